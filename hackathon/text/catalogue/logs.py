"""Messages of `hackathon.logs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "bad_pattern": (
        "the pattern of metric {name} is not a regular expression: {error}: {pattern}",
        "指標 {name} のパターンが正規表現として正しくありません: {error}: {pattern}",
    ),
    "bad_pattern_hint": (
        "write one group around the number, e.g. 'throughput: ([0-9.]+)', in single quotes in YAML",
        "数値を 1 つの括弧で囲み、YAML では単一引用符で書いてください（例: 'throughput: ([0-9.]+)'）",
    ),
    "endless_pattern": (
        "the pattern of metric {name} may never end on a line that nearly fits: {pattern}",
        "指標 {name} のパターンは、ほぼ一致する行で検索が終わらないおそれがあります: {pattern}",
    ),
    "endless_pattern_hint": (
        "repeat nothing that is itself a repeat or a choice: 'a+' instead of '(a+)+'",
        "繰り返しや選択を、さらに繰り返さないでください（例: '(a+)+' ではなく 'a+'）",
    ),
    "bad_ranks": (
        "{value!r} is no rank such as 3, 0-3 or 0,4-7",
        "{value!r} はランクの指定ではありません(例: 3、0-3、0,4-7)",
    ),
    "bad_since": (
        "{value!r} is no time such as 10m, 2h, 14:30 or 2026-11-21 14:30",
        "{value!r} は時刻として読めません(例: 10m、2h、14:30、2026-11-21 14:30)",
    ),
    "bad_grep": (
        "{pattern!r} is not a regular expression: {error}",
        "{pattern!r} は正規表現として正しくありません: {error}",
    ),
    "bad_grep_hint": (
        "put a backslash before ( ) [ ] . * + ? to look for the character itself",
        "( ) [ ] . * + ? の文字そのものを探すには、前にバックスラッシュを付けてください",
    ),
    "raw_alone": (
        "--raw shows the files as they are: without --follow, --grep and --since",
        "--raw はファイルをそのまま表示します。--follow、--grep、--since とは併用できません",
    ),
    "raw_alone_hint": ("leave out --raw, or the other option", "--raw か他方のオプションを外してください"),
    "no_rank": (
        "nothing from rank {ranks}; ranks with a log: {known}",
        "ランク {ranks} の出力はありません。ログがあるのはランク {known} です",
    ),
    "none_match": ("no line matches", "該当する行はありません"),
}
