"""Read and download crates of runs."""
