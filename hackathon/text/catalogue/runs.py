"""Messages of `hackathon.runs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
