"""Limit idle connections: those without a request get a share of all, and each account a part of that.

Anybody on a login node can open a thousand connections to a port. The kernel knows their accounts; it is asked only if
there are many, because listing all connections of a busy node takes a while.
"""

import asyncio
import contextlib
import ipaddress
import resource
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

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
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))

Peer = tuple[str, int]
"""Address and port of a connection's other end."""


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
        ports = {
            connection.get_extra_info("sockname")[1] for connection in self._waiting if _peer(connection) is not None
        }
        uids = {port: owners(port) for port in ports}
        of: defaultdict[int | str, list[asyncio.Transport]] = defaultdict(list)
        for connection in self._waiting:
            peer = _peer(connection)
            if peer is not None:  # a connection from another machine counts by its address
                self._waiting[connection] = uids[connection.get_extra_info("sockname")[1]].get(peer, peer[0])
            of[self._waiting[connection]].append(connection)
        for theirs in of.values():
            for connection in theirs[: max(0, len(theirs) - self.each)]:
                self._close(connection)

    def _close(self, transport: asyncio.Transport) -> None:
        del self._waiting[transport]
        transport.abort()


def _peer(transport: asyncio.Transport) -> Peer | None:
    """Return the other end of a connection to a port; None on a Unix socket, which only its owner can use."""
    name: Any = transport.get_extra_info("peername")
    return (_plain(name[0]), name[1]) if isinstance(name, tuple) else None


def owners(port: int) -> dict[Peer, int]:
    """Return the uids of this machine's processes that are connected to a port, by their addresses.

    Empty if the system does not provide them.
    """
    uids: dict[Peer, int] = {}
    end = f":{port:04X}"
    for table in TABLES:
        with contextlib.suppress(OSError), table.open(encoding="ascii", errors="replace") as lines:
            for local, uid in _rows(lines, end):
                address, _, number = local.rpartition(":")
                uids[_address(address), int(number, 16)] = uid
    return uids


def _rows(lines: Iterator[str], end: str) -> Iterator[tuple[str, int]]:
    for line in islice(lines, 1, None):
        fields = line.split(None, 10)
        # A socket that its process has closed has no inode and is listed as root's.
        if len(fields) > 9 and fields[2].endswith(end) and fields[9] != "0":
            yield fields[1], int(fields[7])


def _address(text: str) -> str:
    """Return an address in the usual notation; the kernel writes 32-bit words in this machine's byte order."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    return _plain(str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))))


def _plain(text: str) -> str:
    """Return an address in one notation: IPv4 may be mapped to IPv6, and a local address may include a device."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)
