"""The message catalogue: one module per package of `hackathon`, each a dict `MESSAGES` of key → (English, Japanese)."""
