"""Messages of `hackathon.schedulers`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
