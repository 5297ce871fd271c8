"""What an event shares: the problem board, requests for help, the morning round, notifications."""
