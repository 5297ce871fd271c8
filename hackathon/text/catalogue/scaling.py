"""Messages of `hackathon.scaling`: key → (English, Japanese)."""

MESSAGES: dict[str, tuple[str, str]] = {}
