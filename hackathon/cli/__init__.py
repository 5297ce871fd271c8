"""One thin click command per file: read options, call the package below, print the result."""
