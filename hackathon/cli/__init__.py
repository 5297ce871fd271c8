"""Floor 9: one click command per file, thin: read options → call → show."""
