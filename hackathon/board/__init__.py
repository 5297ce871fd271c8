"""The problem board of an event: posts, replies, requests for help, the daily status report."""
