"""Messages of `board`."""
