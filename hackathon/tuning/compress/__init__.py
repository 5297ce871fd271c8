"""Choose the precision of communication: compare hooks with uncompressed training, seed by seed."""
