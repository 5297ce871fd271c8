"""Schedulers: one folder each with its commands and parsers (pure), and one runner that does the I/O."""
