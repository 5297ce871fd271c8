"""Fujitsu's job manager (PJM): commands, parsers, dialect and job scripts. Never run on a real PJM."""
