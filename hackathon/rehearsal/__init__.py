"""A short run of a program that checks how the toolkit understands it, before a study uses hours."""
