"""Messages of `notify`."""
