"""Hangs: which rank the others waited for, and where it was."""
