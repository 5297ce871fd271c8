"""Grid Engine: so far only how its job scripts are read."""
