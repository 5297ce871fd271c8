"""Messages of `scaling`."""
