"""The published site: built aside, checked for leaks, exchanged in one step."""
