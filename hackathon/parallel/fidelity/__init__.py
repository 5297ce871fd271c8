"""Checks whether a captured graph trains like the model: what it would leave out, and the self-check."""
