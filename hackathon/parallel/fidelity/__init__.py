"""Whether a captured graph trains as the model does: what it would leave out, and the self-check."""
