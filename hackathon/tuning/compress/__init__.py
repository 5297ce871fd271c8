"""Which precision of communication pays: hooks compared with the uncompressed training, seed by seed."""
