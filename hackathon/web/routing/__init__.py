"""Which view answers for which kind of page."""
