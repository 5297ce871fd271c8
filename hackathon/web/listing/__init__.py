"""Lists and comparisons of runs, and the lines of their logs."""
