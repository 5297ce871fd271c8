"""Messages of `schedulers`."""
