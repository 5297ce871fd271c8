"""Messages of `hackathon.logs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
