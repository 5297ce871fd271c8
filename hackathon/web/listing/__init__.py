"""Runs in lists, runs beside each other, and the lines of their logs."""
