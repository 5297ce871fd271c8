"""Traces of torch.profiler (Kineto's JSON): read, align, sum per rank and step, merge. torch is not needed."""
