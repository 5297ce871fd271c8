"""Messages of `hackathon.text`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
