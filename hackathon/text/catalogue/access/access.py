"""Messages of `hackathon.access`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "link": ("it is a link that leads out of the folder", "フォルダーの外を指すリンクです"),
    "kind": ("it is not a regular file", "通常のファイルではありません"),
    "owner": (
        "it does not belong to the owner of the folder",
        "フォルダーの所有者のファイルではありません",
    ),
    "refused": ("{path} is not read: {what}", "{path} は読み込みません: {what}"),
    "refused_more": (
        "{count} more files of this run are not read",
        "この実行のファイルのうち、ほか {count} 個は読み込みません",
    ),
    "outside": ("the path leads out of the folder", "パスがフォルダーの外を指しています"),
}
