"""Limit idle connections: those without a request get a share of all, and each account a part of that.

Anybody on a login node can open a thousand connections to a port. The kernel knows their accounts; it is asked only if
there are many.
"""

import asyncio
import contextlib
import resource
import time
from collections import Counter, defaultdict
from typing import Any

from hackathon.web.dashboard.peers import NOBODY, peer_uid

CONNECTIONS = 1000
OPEN_FILES = 4096
"""Files and connections that may be open at once, if the system allows it."""
WAITING = 3
"""Connections without a request are at most 1/WAITING of all."""
EACH = 10
"""Above that limit, each account keeps at most 1/EACH of them."""
LOOK_AGAIN = 0.25
"""Shortest time between two look-ups of the accounts."""
SHARE = 10
"""These look-ups take at most 1/SHARE of the time."""


def raise_open_files() -> None:
    """Raise the limit of open files and connections above the usual 1024, if the system allows it."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def room() -> int:
    """Return how many connections are accepted."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # far fewer than open files, so that new connections can always be accepted
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(8, min(CONNECTIONS, soft // 4))


class Crowd:
    """Connections without a request so far, oldest first."""

    def __init__(self, most: int) -> None:
        """Keep at most `most` of them; beyond that, the oldest of the account with the most are closed."""
        self.most, self.each = max(1, most), max(1, most // EACH)
        self._waiting: dict[asyncio.Transport, int | str] = {}
        self._next_look = 0.0

    def came(self, transport: asyncio.Transport) -> None:
        """Add a new connection, and close others if there are too many."""
        self._waiting[transport] = ""
        if len(self._waiting) <= self.most:
            return
        begun = time.monotonic()
        if begun >= self._next_look:
            self._look()
            now = time.monotonic()
            self._next_look = now + max(LOOK_AGAIN, SHARE * (now - begun))
        while len(self._waiting) > self.most:
            # Those that came since the last look-up count as one account, whose oldest ones had the time to send a
            # request.
            [(account, _)] = Counter(self._waiting.values()).most_common(1)
            self._close(next(connection for connection, whose in self._waiting.items() if whose == account))

    def left(self, transport: asyncio.Transport) -> None:
        """Remove a connection that has sent a request or was closed."""
        self._waiting.pop(transport, None)

    def _look(self) -> None:
        """Look up the accounts of the connections, and close the oldest of those with too many."""
        of: defaultdict[int | str, list[asyncio.Transport]] = defaultdict(list)
        for connection in self._waiting:
            self._waiting[connection] = _account(connection)
            of[self._waiting[connection]].append(connection)
        for theirs in of.values():
            for connection in theirs[: max(0, len(theirs) - self.each)]:
                self._close(connection)

    def _close(self, transport: asyncio.Transport) -> None:
        del self._waiting[transport]
        transport.abort()


def _account(transport: asyncio.Transport) -> int | str:
    """Return the uid at the other end of a connection, or the address of a connection from another machine."""
    peer: Any = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):  # only its owner can use a Unix socket
        return ""
    uid = peer_uid(transport.get_extra_info("socket"))
    return str(peer[0]) if uid in (None, NOBODY) else uid
