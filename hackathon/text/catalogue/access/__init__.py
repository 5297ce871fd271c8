"""Messages of `runs`."""
