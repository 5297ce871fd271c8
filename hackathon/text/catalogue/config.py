"""Messages of `hackathon.config`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
