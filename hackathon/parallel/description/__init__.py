"""What the operators of a user's model take and keep: from `model.py:build` to graph.json. Needs torch."""
