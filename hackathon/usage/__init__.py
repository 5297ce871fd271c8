"""What teams used: node-hours, GPU-hours and tokens, compared with their budgets."""
