"""Floor 3: read and follow logs of many ranks, extract metrics."""
