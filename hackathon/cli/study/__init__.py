"""Commands of a study: scale, results, compare."""
