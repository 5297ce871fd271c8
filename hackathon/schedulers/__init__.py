"""Floor 1: schedulers as argv builders and output parsers (pure), and one runner that does the I/O."""
