"""Messages of the page of one log: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "find": ("Search in this log", "ログ内を検索"),
    "to_end": ("Back to its end", "末尾に戻る"),
    "follows": ("new lines appear by themselves", "新しい行は自動で表示されます"),
    "count": (
        "{count} {count:line has|lines have} “{words}”",
        "「{words}」を含む行: {count} 行",
    ),
    "first": ("The first {count} are shown.", "最初の {count} 行を表示しています。"),
    "partly": (
        "This log is long: only its last {size} were searched, and lines have no numbers.",
        "ログが長いため、末尾の {size} だけを検索しました。行番号は表示しません。",
    ),
    "around": ("Lines around {line}", "{line} 行目の前後"),
    "end": ("The last {count} lines", "末尾の {count} 行"),
    "all": ("All lines", "全文"),
}
