"""Virtual nodes on this machine, for the private schedulers of the tests."""
