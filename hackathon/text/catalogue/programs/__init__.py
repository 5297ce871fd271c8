"""Texts of `hackathon.programs`."""
