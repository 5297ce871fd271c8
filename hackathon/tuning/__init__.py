"""Make a program faster on one device: measure options one by one, and find the largest batch that fits."""
