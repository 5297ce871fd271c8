"""Floor 8: pages."""
