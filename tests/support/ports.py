"""Ports for programs that tests start by hand."""

import random
import socket


def free_port(behind: int = 0) -> int:
    """Return a port that nobody listens on, with so many free ones behind it, below those that the kernel gives out."""
    while True:
        port = random.randrange(21000, 29000)
        try:
            for number in range(port, port + 1 + behind):
                with socket.socket() as probe:
                    probe.bind(("", number))
        except OSError:
            continue
        return port
