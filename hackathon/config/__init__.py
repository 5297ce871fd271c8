"""Floor 0: the YAML files that people write — their records, how they are read, checked and searched for."""
