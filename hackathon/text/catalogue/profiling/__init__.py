"""Texts of `hackathon.profiling`."""
