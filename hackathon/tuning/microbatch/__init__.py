"""Micro-batches: how many of them a limit of memory asks for, and how single layers are best split."""
