"""Find the account at the other end of a connection on this machine, from the kernel.

A port on the loopback address is open to all users of a login node, and so is every page that `ssh -L` forwards.
"""

import errno
import ipaddress
import os
import socket
import struct

NOBODY = -1
"""The process at the other end closed it, so no account owns it."""

_SOCK_DIAG_BY_FAMILY, _REQUEST, _ERROR, _SOCK_DIAG = 20, 1, 2, 4
_HEADER = struct.Struct("=IHHII")
_SOCKET = struct.Struct("=BBBBI2s2s16s16sIQ")
"""inet_diag_req_v2 (sock_diag(7)): family, protocol, extensions, pad, states, ports, addresses, interface, cookie."""
_UID_AT = 4 + 48 + 12
"""Bytes of inet_diag_msg before the uid, which the inode follows."""
_NO_COOKIE = (1 << 64) - 1


class OwnSocket(socket.socket):
    """A listening socket that accepts only its owner's (and root's) processes, by the kernel's information.

    On a Unix socket the modes of file and directory keep others out already; this also holds if somebody changes the
    modes. On a loopback port it is the only protection.
    """

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection. Raises ConnectionAbortedError for another user's, which is closed."""
        connection, address = super().accept()
        if peer_uid(connection) in (None, 0, os.geteuid()):
            return connection, address
        connection.close()
        raise ConnectionAbortedError(errno.ECONNABORTED, "another user's process")


def peer_uid(connection: socket.socket) -> int | None:
    """Return the uid of a connection's other end, NOBODY if it is closed, None if the system does not provide it."""
    if connection.family == socket.AF_UNIX:
        return _uid_on_unix(connection)
    return _uid_on_loopback(connection)


def _uid_on_unix(connection: socket.socket) -> int | None:
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)


def _uid_on_loopback(connection: socket.socket) -> int | None:
    # asks for one socket by its addresses, because a list of all connections of a busy node takes a while
    try:
        own, peer = connection.getsockname(), connection.getpeername()
    except OSError:
        return NOBODY
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
            kernel.settimeout(2.0)
            body = _SOCKET.pack(
                connection.family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF, peer[1].to_bytes(2, "big"),
                own[1].to_bytes(2, "big"), _packed(peer[0]), _packed(own[0]), 0, _NO_COOKIE,
            )  # fmt: skip
            kernel.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + body)
            answer = kernel.recv(1 << 16)
    except (OSError, AttributeError):
        return None
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _ERROR:
        code = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        return NOBODY if code == errno.ENOENT else None
    uid, inode = struct.unpack_from("=II", answer, _HEADER.size + _UID_AT)
    return int(uid) if inode else NOBODY


def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address.partition("%")[0]).packed.ljust(16, b"\0")
