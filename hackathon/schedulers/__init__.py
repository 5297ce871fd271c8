"""Schedulers: what to run and what it prints (pure), one folder each, and one runner that does the I/O."""
