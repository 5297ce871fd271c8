"""From a user's `model.py:build` to graph.json: the cache, and the process for the user's code. No torch."""
