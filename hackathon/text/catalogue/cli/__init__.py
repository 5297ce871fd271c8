"""Messages of `cli`."""
