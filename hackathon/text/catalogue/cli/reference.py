"""Messages of `hackathon.cli.reference`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    "option": ("option", "オプション"),
    "meaning": ("meaning", "意味"),
    "check": ("check", "確認"),
    "do": ("What to do", "対処"),
    "see": ("See", "参考"),
}
