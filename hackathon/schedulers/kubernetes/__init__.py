"""Kubernetes: a headless Service and an Indexed Job, without an operator."""
