"""Toolkit for distributed deep-learning hackathons on shared supercomputers."""

__version__ = "0.1.0"
archive: str | None = None
"""The bundle (`make bundle`) that the toolkit runs from: one file with all that it needs; None when it is installed."""
