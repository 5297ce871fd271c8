"""Messages of `config`."""
