"""Grid Engine: commands, parsers, dialect and job scripts."""
