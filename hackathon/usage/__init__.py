"""What teams used: node-hours, GPU-hours and tokens, held against their budgets."""
