"""One module per address: the values that its page shows."""
