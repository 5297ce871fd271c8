"""Messages of `index`."""
