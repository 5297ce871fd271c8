"""Messages of `readiness`."""
