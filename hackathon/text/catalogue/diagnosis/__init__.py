"""Messages of `diagnosis`."""
