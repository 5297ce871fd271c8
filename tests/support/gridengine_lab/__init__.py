"""A private Grid Engine of three virtual nodes on this machine."""
