"""The dashboard's endpoint: a Unix socket in a private directory, or a port with a token in a private file.

A login node is shared by hundreds of users. The file system closes a socket in a directory of mode 0700 to all others;
a port on the loopback address is open to all of them, so it needs a secret.
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
    """An open listening socket and its address."""

    listener: socket.socket
    path: Path | None = None
    """The Unix socket; None on a port."""
    address: str = ""
    port: int = 0
    token: str = ""
    """128 bits in hexadecimal; empty on a Unix socket, which its directory protects."""
    token_file: Path | None = None
    name: str = ""
    """For a port on a loopback address: its own host name, which browsers resolve to this computer (RFC 6761).

    Cookies belong to a host name and ignore the port, so those of `localhost` go to every forwarded page.
    """
    writes: bool = False
    """Whether forms are accepted; they write as the account that runs the server."""


def own_folder() -> Path:
    """Return the user's folder on this node, created if missing: $XDG_RUNTIME_DIR/hackathon, else one in /tmp.

    Raises RequestError if it cannot be created or another account owns it (anybody may create folders in /tmp).
    """
    return closed_folder(node_folder(LONGEST_PATH - len("/dashboard-12345678.sock")))  # the longest name in it


def closed_folder(folder: Path) -> Path:
    """Return a folder after creating it (0700) or checking that it is closed to others. Raises RequestError."""
    try:
        return private_folder(folder)
    except NotPrivateError as error:
        if error.foreign:
            raise RequestError(
                "dashboard.folder_foreign",
                "{path} is not your own folder; other users could replace what is put there",
                hint="choose a folder of your own with --socket, and tell the administrators who owns {path}",
                path=folder,
            ) from None
        raise RequestError(
            "dashboard.folder_open",
            "other users can access {path} (mode {mode})",
            hint="chmod 700 {path!q}, or choose a folder that only you can enter",
            path=folder,
            mode=error.mode,
        ) from None
    except OSError as error:
        raise RequestError(
            "dashboard.no_folder", "cannot create {path}: {reason}", path=folder, reason=error.strerror or error
        ) from None


def default_socket(subject: str) -> Path:
    """Return the socket's path for a subject; equal for equal folders, so that a second dashboard is detected."""
    return own_folder() / f"dashboard-{hashlib.sha256(os.fsencode(subject)).hexdigest()[:8]}.sock"


@contextlib.contextmanager
def socket_door(path: Path, *, writes: bool = False) -> Iterator[Endpoint]:
    """Listen on a Unix socket (0600) until the block ends, and remove it then; `writes`: forms are accepted.

    Raises RequestError if the path is too long, its folder is open to others, another kind of file exists there, or
    another dashboard listens there. A socket that a killed dashboard left behind is replaced.
    """
    path = path.absolute()
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise RequestError(
            "dashboard.path_long",
            "the path {path} is {length} bytes long; the limit for a Unix socket is {limit}",
            hint="choose a shorter one with --socket",
            path=path,
            length=len(os.fsencode(path)),
            limit=LONGEST_PATH,
        )
    closed_folder(path.parent)
    with _only_one(path):
        _remove_stale(path)
        listener = OwnSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            listener.close()
            raise RequestError(
                "dashboard.no_socket",
                "cannot create a socket at {path}: {reason}",
                path=path,
                reason=error.strerror or error,
            ) from None
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
    """Hold a lock beside the socket; its holder may replace a socket that a killed dashboard left behind."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise RequestError(
            "dashboard.no_socket",
            "cannot create a socket at {path}: {reason}",
            path=path,
            reason=error.strerror or error,
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RequestError(
                "dashboard.running",
                "a dashboard is already running at {path}",
                hint="open that one (ssh -L 8000:{path!q} …), or choose another path with --socket",
                path=path,
            ) from None
        except OSError:
            pass  # a file system without locks: the test connection has to suffice
        yield
    finally:
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise RequestError(
            "dashboard.no_socket_there", "{path} exists and is not your socket; it was not changed", path=path
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(2.0)
        try:
            trial.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            pass
        except OSError as error:  # a full backlog means that a server exists
            raise RequestError(
                "dashboard.running",
                "a dashboard is already running at {path}",
                hint="open that one (ssh -L 8000:{path!q} …), or choose another path with --socket",
                path=path,
            ) from error
        else:
            raise RequestError(
                "dashboard.running",
                "a dashboard is already running at {path}",
                hint="open that one (ssh -L 8000:{path!q} …), or choose another path with --socket",
                path=path,
            )
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def port_door(address: str, port: int, *, writes: bool = False) -> Iterator[Endpoint]:
    """Listen on a port (0: a free one) with a new token in a private file (0600) until the block ends.

    `writes`: forms are accepted, and the token admits one browser.

    Raises RequestError if the port is in use or the address is not one of this machine's.
    """
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(listening(address, port, alone=True))
        except OSError as error:
            raise RequestError(
                "dashboard.no_port",
                "cannot listen on {where}: {reason}",
                hint="omit --port to use a socket, or use --port 0 for a free port",
                where=f"{address}:{port}",
                reason=error.strerror or error,
            ) from None
        taken = listener.getsockname()[1]
        token = secrets.token_hex(16)
        file = own_folder() / f"dashboard-{taken}.token"
        try:
            write_whole(file, token + "\n", 0o600)
        except OSError as error:
            raise HackathonError(
                "dashboard.no_folder", "cannot create {path}: {reason}", path=file, reason=error.strerror or error
            ) from None
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
    """Yield a socket that listens on a port (0: a free one) of an address. Raises OSError if that is impossible.

    `alone`: on a loopback address it accepts only this account's processes.
    """
    addresses = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, endpoint = addresses[0]
    # asyncio switches Nagle's algorithm off only if a socket says that it is TCP; otherwise the second packet of an
    # answer waits for a delayed acknowledgement, about 40 ms, on every connection that is kept open
    local = ipaddress.ip_address(str(endpoint[0]).partition("%")[0]).is_loopback
    with (OwnSocket if alone and local else socket.socket)(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(endpoint)
        listener.listen(BACKLOG)
        yield listener


def host_name() -> str:
    """Return this machine's own name, because a login name may lead to any of several machines."""
    node = os.uname().nodename
    full = socket.getfqdn()
    return full if full.split(".")[0] == node.split(".")[0] else node
