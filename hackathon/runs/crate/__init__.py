"""Crates of runs as they are read and fetched."""
