"""Floor 8: one click command per file, thin: read options → call → show."""
