"""Messages of `usage`."""
