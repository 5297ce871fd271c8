"""Fujitsu's job manager (PJM): so far only how its job scripts are read."""
