"""Messages of `jobs`."""
