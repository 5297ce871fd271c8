"""Messages of `survey`."""
