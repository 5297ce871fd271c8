"""`hackathon clusters`, one module for each sub-verb."""
