"""Traces of torch.profiler (Kineto's JSON): read, aligned, reckoned up per rank and step, and merged. No torch."""
