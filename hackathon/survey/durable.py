"""Files of a survey that are on the disk when the function returns, and locks that die with their process."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hackathon.access.publish import publish
from hackathon.text.errors import HackathonError

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


def put(folder: Path, name: str, raw: bytes) -> None:
    """Write a new file: whole, never over another, and on the disk with its name when this returns.

    Raises FileExistsError when the name is taken, OSError for a full disk.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        publish(descriptor, name, raw)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_with(path: Path, value: Any, mode: int = 0o600) -> None:
    """Write JSON in the place of a file: a reader sees the old or the new one, and the new one is on the disk."""
    raw = (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    replace_bytes(path, raw, mode)


def replace_bytes(path: Path, raw: bytes, mode: int = 0o600) -> None:
    """Write bytes in the place of a file, as `replace_with` does."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), mode)  # whatever the umask is
            os.fsync(stream.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted, without hidden ones; none when there is no such folder."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


def sync_folder(folder: Path) -> None:
    """Return once the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock file in a `with` block, against threads and processes alike; it is free when its process dies.

    Raises HackathonError on a file system that knows no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            # each caller opens the file anew, so that two threads of a process exclude one another too
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise HackathonError("survey.no_locks", folder=path.parent) from error
            raise
        yield
    finally:
        os.close(descriptor)
