"""Tuning of a program's parameters: trials as jobs, proposals, learning curves, early stopping."""
