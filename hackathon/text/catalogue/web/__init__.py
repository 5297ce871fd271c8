"""Messages of `web`."""
