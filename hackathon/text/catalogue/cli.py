"""Messages of `hackathon.cli`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
