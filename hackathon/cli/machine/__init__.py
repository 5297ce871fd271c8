"""Commands about the machine: clusters, environments, data, doctor, shell."""
