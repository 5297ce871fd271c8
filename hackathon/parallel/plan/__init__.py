"""Finds how to split a model over devices, with a lower bound. No torch; the search needs numpy (extra `plan`)."""
