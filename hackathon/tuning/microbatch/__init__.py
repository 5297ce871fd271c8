"""Micro-batches: how many fit a limit of memory, and the best splits of single layers."""
