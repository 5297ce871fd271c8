"""Messages of `event`."""
