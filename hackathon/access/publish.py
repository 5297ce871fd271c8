"""Put a whole file under a name that must be free, also where several accounts write into one directory."""

import contextlib
import errno
import os
import re
import stat
import time
from pathlib import Path

from hackathon.text.kill_points import step

ABANDONED = 3600.0
"""Seconds after which a file that is being written is taken for one of a killed process."""
_HIDDEN = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.tmp")
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def publish(folder: int, name: str, raw: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Write a file in the directory of a descriptor: whole, readable as `mode` says, and never over another.

    Of several that publish one name at the same moment exactly one succeeds; a process that is killed leaves the whole
    file or none. `durable`: it also survives a power failure, which costs a round trip to the file server.
    Raises FileExistsError when the name is taken, OSError for a full disk or a missing permission.
    """
    hidden = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), mode)  # whatever the umask is: others have to read it
            if durable:
                os.fsync(stream.fileno())
        step("before-name")
        try:
            os.link(hidden, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            # an NFS server whose answer was lost is asked again, and then finds the link that it made itself
            if not _same(folder, hidden, name):
                raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _rename(folder, hidden, name)
        step("after-name")
    finally:
        try:
            os.unlink(hidden, dir_fd=folder)
        except FileNotFoundError:
            pass


def sweep(folder: int) -> None:
    """Remove what killed processes of this account left in the directory of a descriptor an hour ago or earlier."""
    latest = time.time() - ABANDONED
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _HIDDEN.fullmatch(name):
                state = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if state.st_uid == os.geteuid() and stat.S_ISREG(state.st_mode) and state.st_mtime < latest:
                    os.unlink(name, dir_fd=folder)


def _same(folder: int, name: str, other: str) -> bool:
    first, second = (os.stat(entry, dir_fd=folder, follow_symlinks=False) for entry in (name, other))
    return os.path.samestat(first, second)


def _rename(folder: int, hidden: str, name: str) -> None:
    """Do without hard links: take the name with an empty file, and put the whole one in its place."""
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder))
    try:
        os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise


def publish_path(path: Path, raw: bytes, mode: int) -> None:
    """Write the same, not durable, by its path. Raises as `publish`."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        publish(folder, path.name, raw, mode, durable=False)
    finally:
        os.close(folder)
