"""Where a dashboard listens: a Unix socket in a private directory, or a port with a token in a private file.

A login node is shared by hundreds of users. A socket in a directory of mode 0700 is closed to all of them by the file
system; a port on the loopback address is open to all of them, so that it needs a secret.
"""

import contextlib
import fcntl
import hashlib
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hackathon.access.private import NotPrivateError, node_folder, private_folder
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import write_whole
from hackathon.web.dashboard.peers import OwnSocket

LONGEST_PATH = 107
"""Bytes of a Unix socket's path on Linux (sun_path without its final zero)."""
BACKLOG = 128


@dataclass(frozen=True)
class Endpoint:
    """An open listening socket and what leads to it."""

    listener: socket.socket
    path: Path | None = None
    """The Unix socket; None on a port."""
    address: str = ""
    port: int = 0
    token: str = ""
    """128 bits in hexadecimal; empty on a Unix socket, which its directory keeps closed."""
    token_file: Path | None = None
    name: str = ""
    """Of a port on a loopback address: a host name of its own, which browsers take for this computer (RFC 6761).

    Cookies belong to a host name, whatever the port: those of `localhost` go to every page that is forwarded there.
    """
    writes: bool = False
    """Whether forms are taken: what they write is written by the account that runs the server."""


def own_folder() -> Path:
    """Return the user's folder on this node, made when missing: $XDG_RUNTIME_DIR/hackathon, else one in /tmp.

    Raises RequestError when it cannot be made or belongs to somebody else (anybody may make folders in /tmp).
    """
    return closed_folder(node_folder(LONGEST_PATH - len("/dashboard-12345678.sock")))  # the longest name put into it


def closed_folder(folder: Path) -> Path:
    """Return a folder after making it (0700) or seeing that it is closed to others. Raises RequestError."""
    try:
        return private_folder(folder)
    except NotPrivateError as error:
        if error.foreign:
            raise RequestError("dashboard.folder_foreign", path=folder) from None
        raise RequestError("dashboard.folder_open", path=folder, mode=error.mode) from None
    except OSError as error:
        raise RequestError("dashboard.no_folder", path=folder, reason=error.strerror or error) from None


def default_socket(subject: str) -> Path:
    """Return the socket's path for what is shown: the same for the same folders, so that two do not run unnoticed."""
    return own_folder() / f"dashboard-{hashlib.sha256(os.fsencode(subject)).hexdigest()[:8]}.sock"


@contextlib.contextmanager
def socket_door(path: Path, *, writes: bool = False) -> Iterator[Endpoint]:
    """Listen on a Unix socket (0600) until the block ends, and remove it then; `writes`: forms are taken.

    Raises RequestError when the path is too long, its folder is open to others, something else lies there, or another
    dashboard listens there. A socket that a killed one left behind is replaced.
    """
    path = path.absolute()
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise RequestError("dashboard.path_long", path=path, length=len(os.fsencode(path)), limit=LONGEST_PATH)
    closed_folder(path.parent)
    with _only_one(path):
        _remove_stale(path)
        listener = OwnSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            listener.close()
            raise RequestError("dashboard.no_socket", path=path, reason=error.strerror or error) from None
        finally:
            os.umask(before)
        mine = path.lstat()
        try:
            listener.listen(BACKLOG)
            yield Endpoint(listener, path=path, writes=writes)
        finally:
            listener.close()
            with contextlib.suppress(OSError):
                if os.path.samestat(path.lstat(), mine):
                    path.unlink()


@contextlib.contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Hold a lock beside the socket: who holds it may replace what a killed dashboard left."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RequestError("dashboard.no_socket", path=path, reason=error.strerror or error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RequestError("dashboard.running", path=path) from None
        except OSError:
            pass  # a file system without locks: the test connection has to do
        yield
    finally:
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise RequestError("dashboard.no_socket_there", path=path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(2.0)
        try:
            trial.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            pass
        except OSError as error:  # a full backlog: somebody is there
            raise RequestError("dashboard.running", path=path) from error
        else:
            raise RequestError("dashboard.running", path=path)
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def port_door(address: str, port: int, *, writes: bool = False) -> Iterator[Endpoint]:
    """Listen on a port (0: a free one) with a fresh token in a private file (0600) until the block ends.

    `writes`: forms are taken, and the token lets one browser in.

    Raises RequestError when the port is taken or the address is none of this machine's.
    """
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(listening(address, port, alone=True))
        except OSError as error:
            raise RequestError("dashboard.no_port", where=f"{address}:{port}", reason=error.strerror or error) from None
        taken = listener.getsockname()[1]
        token = secrets.token_hex(16)
        file = own_folder() / f"dashboard-{taken}.token"
        try:
            write_whole(file, token + "\n", 0o600)
        except OSError as error:
            raise HackathonError("dashboard.no_folder", path=file, reason=error.strerror or error) from None
        try:
            address = listener.getsockname()[0]
            alone = ipaddress.ip_address(address.partition("%")[0]).is_loopback
            name = f"hackathon-{secrets.token_hex(4)}.localhost" if alone else ""
            yield Endpoint(
                listener, address=address, port=taken, token=token, token_file=file, name=name, writes=writes
            )
        finally:
            with contextlib.suppress(OSError):
                if file.read_text() == token + "\n":
                    file.unlink()


@contextlib.contextmanager
def listening(address: str, port: int, *, alone: bool = False) -> Iterator[socket.socket]:
    """Yield a socket that listens on a port (0: a free one) of an address. Raises OSError where that cannot be.

    `alone`: on a loopback address it accepts this account's processes only.
    """
    addresses = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, endpoint = addresses[0]
    # asyncio switches Nagle's algorithm off only where a socket says that it is TCP; with it, the second packet of an
    # answer waits for a delayed acknowledgement, about 40 ms, on every connection that is kept open
    local = ipaddress.ip_address(str(endpoint[0]).partition("%")[0]).is_loopback
    with (OwnSocket if alone and local else socket.socket)(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(endpoint)
        listener.listen(BACKLOG)
        yield listener


def host_name() -> str:
    """Return this machine's own name as others would call it: a login name may lead to any of several machines."""
    node = os.uname().nodename
    full = socket.getfqdn()
    return full if full.split(".")[0] == node.split(".")[0] else node
