"""Messages of `hackathon.web`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
