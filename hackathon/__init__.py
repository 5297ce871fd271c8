"""Toolkit for distributed deep-learning hackathons on shared supercomputers."""

__version__ = "0.1.0"
