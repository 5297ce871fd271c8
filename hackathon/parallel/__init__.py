"""Partitions a model too big for one device: the plan, and later the training programs that follow it."""
