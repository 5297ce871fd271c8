"""Texts of `hackathon.tuning`."""
