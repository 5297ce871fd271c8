"""Faults of runs that ended well: data, devices, numerics, training."""
