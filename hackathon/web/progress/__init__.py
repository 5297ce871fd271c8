"""The progress of a run: its numbers over time, and the state of its ranks."""
