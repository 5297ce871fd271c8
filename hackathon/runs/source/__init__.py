"""The program of a run: its snapshot, its Git state, its provenance."""
