"""Scaling at sizes that were not measured: a value, an interval, and what both rest on."""
