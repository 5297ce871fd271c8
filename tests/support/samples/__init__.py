"""Invented runs, studies and events that look like real ones, and a source of views over them."""
