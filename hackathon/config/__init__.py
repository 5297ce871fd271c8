"""Floor 0: the YAML files that people write: their records, reading, checks and search path."""
