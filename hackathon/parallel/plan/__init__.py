"""Finds how a model is cut over devices, with a lower bound. No torch; the search needs numpy (extra `plan`)."""
