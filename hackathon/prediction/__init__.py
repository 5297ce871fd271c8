"""Predict scaling at sizes without measurements: a value, an interval, and their basis."""
