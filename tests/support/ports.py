"""Ports for programs that tests start by hand."""

import contextlib
import random
import socket

BLOCK = 20
_RANDOM = random.SystemRandom()
"""Not Python's generator: Hypothesis seeds that, and workers would choose the same ports."""


def free_port(behind: int = 0) -> int:
    """Return a port that nobody listens on, with so many free ones behind it, below those that the kernel gives out."""
    while True:
        port = _RANDOM.randrange(21000, 29000)
        try:
            for number in range(port, port + 1 + behind):
                with socket.socket() as probe:
                    probe.bind(("", number))
        except OSError:
            continue
        return port


def reserve_ports(count: int) -> tuple[int, socket.socket]:
    """Return the first of up to 20 free ports, and what keeps them from others who ask here: close it at the end.

    They lie above the ports of jobs' ranks, below the range that the kernel gives out. Others can still take one.
    """
    for base in _RANDOM.sample(range(30000, 32700, BLOCK), 2700 // BLOCK):
        # a name in the abstract space: it is gone with its owner, however that one ends
        mine = socket.socket(socket.AF_UNIX)
        try:
            mine.bind(f"\0hackathon-test-ports-{base}")
            with contextlib.ExitStack() as stack:
                for port in range(base, base + count):
                    stack.enter_context(socket.socket()).bind(("", port))
        except OSError:
            mine.close()
            continue
        return base, mine
    raise OSError("no free block of ports")
