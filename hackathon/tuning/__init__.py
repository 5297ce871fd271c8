"""What makes a program faster on one device: options measured one by one, and the largest batch that fits."""
