"""Printed throughput: rank 0 alone prints, so that it has to tell the samples of all processes."""
