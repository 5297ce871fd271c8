"""Messages of `logs`."""
