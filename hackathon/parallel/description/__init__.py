"""Times and memory of a model's operators: from `model.py:build` to graph.json. Needs torch."""
