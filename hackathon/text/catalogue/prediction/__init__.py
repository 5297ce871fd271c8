"""Texts of `hackathon.prediction`."""
