"""A private Slurm of several virtual nodes on this machine."""
