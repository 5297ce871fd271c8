"""Publish a complete file under a free name, even if several accounts write in one directory."""

import contextlib
import errno
import os
import re
import stat
import time
from pathlib import Path

from hackathon.text.kill_points import step

ABANDONED = 3600.0
"""Seconds after which an unfinished file counts as left behind by a killed process."""
_HIDDEN = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.tmp")
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def publish(folder: int, name: str, raw: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Write a complete file in the directory of a descriptor, readable as `mode` says, and never over another file.

    If several processes publish one name at the same time, exactly one succeeds; a killed process leaves the complete
    file or none. `durable`: the file also survives a power failure, which costs a round trip to the file server. Raises
    FileExistsError if the name exists, OSError for a full disk or a missing permission.
    """
    hidden = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), mode)  # regardless of the umask, because others have to read the file
            if durable:
                os.fsync(stream.fileno())
        step("before-name")
        try:
            os.link(hidden, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            # after a lost answer an NFS client repeats the request, and then fails on the link that it created itself
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
    """Remove files that killed processes of this account left in a descriptor's directory at least an hour ago."""
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
    """Publish without hard links: reserve the name with an empty file, and replace that with the complete file."""
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder))
    try:
        os.rename(hidden, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise


def publish_path(path: Path, raw: bytes, mode: int) -> None:
    """Publish a file by its path, not durable. Raises as `publish` does."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        publish(folder, path.name, raw, mode, durable=False)
    finally:
        os.close(folder)
