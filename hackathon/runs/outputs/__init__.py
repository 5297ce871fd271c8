"""Outputs of a program in its run's directory: detected, recorded in `outputs.json`, listed and copied."""
