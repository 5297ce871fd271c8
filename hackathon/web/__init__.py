"""Floor 7: pages."""
