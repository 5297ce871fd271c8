"""Messages of the pages' looks and of the scaling results of all teams: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {
    # figures
    "data": ("Data", "数値"),
}
