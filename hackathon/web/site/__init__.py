"""The published site: built in a separate folder, checked for leaks, and published in one step."""
