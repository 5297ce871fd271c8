"""Messages of `hackathon.jobs`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
