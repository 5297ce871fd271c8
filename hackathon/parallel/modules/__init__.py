"""A model that cannot be captured, run by its modules: which models are chains of them, and their stages."""
