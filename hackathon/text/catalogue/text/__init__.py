"""Messages of `text`."""
