"""Faults of runs that succeeded: data, devices, numerics, training."""
