"""Printed throughput: only rank 0 prints, so it must print the samples of all processes."""
