"""Keep room for those who ask: connections that have asked nothing get a share, and no account more than some of it.

Anybody on a login node can open a thousand connections to a port. Whose they are is known to the kernel; it is asked
only when there are many, for a list of all connections of a busy node takes a while to read.
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
"""Files and connections that may be open at once, where the system lets us."""
WAITING = 3
"""Connections that have asked nothing are at most 1/WAITING of all."""
EACH = 10
"""When they are more: each account keeps at most 1/EACH of these."""
LOOK_AGAIN = 0.25
"""Shortest time between two looks whose connections they are."""
SHARE = 10
"""These looks take at most 1/SHARE of the time."""
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))

Peer = tuple[str, int]
"""Address and port of a connection's other end."""


def raise_open_files() -> None:
    """Let this process open more files and connections than the usual 1024, where the system lets us."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def room() -> int:
    """Return how many connections are held: far fewer than files may be open, or none could be accepted any more."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(8, min(CONNECTIONS, soft // 4))


class Crowd:
    """Connections that have asked nothing yet, the oldest first."""

    def __init__(self, most: int) -> None:
        """`most` of them are kept: beyond that, the oldest of whoever has the most are closed."""
        self.most, self.each = max(1, most), max(1, most // EACH)
        self._waiting: dict[asyncio.Transport, int | str] = {}
        self._next_look = 0.0

    def came(self, transport: asyncio.Transport) -> None:
        """Take note of a new connection, and close others where they are too many."""
        self._waiting[transport] = ""
        if len(self._waiting) <= self.most:
            return
        begun = time.monotonic()
        if begun >= self._next_look:
            self._look()
            now = time.monotonic()
            self._next_look = now + max(LOOK_AGAIN, SHARE * (now - begun))
        while len(self._waiting) > self.most:
            # Those that came since the last look count as one account: their oldest had the time to ask.
            [(account, _)] = Counter(self._waiting.values()).most_common(1)
            self._close(next(connection for connection, whose in self._waiting.items() if whose == account))

    def left(self, transport: asyncio.Transport) -> None:
        """Count a connection no more: it has asked something, or it is gone."""
        self._waiting.pop(transport, None)

    def _look(self) -> None:
        """See whose the connections are, and close the oldest of those who have too many."""
        ports = {
            connection.get_extra_info("sockname")[1] for connection in self._waiting if _peer(connection) is not None
        }
        uids = {port: owners(port) for port in ports}
        of: defaultdict[int | str, list[asyncio.Transport]] = defaultdict(list)
        for connection in self._waiting:
            peer = _peer(connection)
            if peer is not None:  # who comes from another machine is known by its address
                self._waiting[connection] = uids[connection.get_extra_info("sockname")[1]].get(peer, peer[0])
            of[self._waiting[connection]].append(connection)
        for theirs in of.values():
            for connection in theirs[: max(0, len(theirs) - self.each)]:
                self._close(connection)

    def _close(self, transport: asyncio.Transport) -> None:
        del self._waiting[transport]
        transport.abort()


def _peer(transport: asyncio.Transport) -> Peer | None:
    """Return the other end of a connection to a port, None on a Unix socket (which lets its owner in only)."""
    name: Any = transport.get_extra_info("peername")
    return (_plain(name[0]), name[1]) if isinstance(name, tuple) else None


def owners(port: int) -> dict[Peer, int]:
    """Return the uids of this machine's processes that are connected to a port, by the ends that are theirs.

    Empty where the system does not tell.
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
        # A socket that was closed by its process has no inode and belongs to root in this list.
        if len(fields) > 9 and fields[2].endswith(end) and fields[9] != "0":
            yield fields[1], int(fields[7])


def _address(text: str) -> str:
    """Return an address as it is usually written: the kernel writes words of 32 bits in this machine's order."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    return _plain(str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))))


def _plain(text: str) -> str:
    """Return an address in its one form: one of IPv4 may come in the clothes of IPv6, a local one with a device."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)
