"""Write files of a survey that are on the disk on return, and take locks that end with their process."""

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
    """Write a new, complete file, never over another; on return, the file and its name are on the disk.

    Raises FileExistsError if the name exists, OSError for a full disk.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        publish(descriptor, name, raw)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_with(path: Path, value: Any, mode: int = 0o600) -> None:
    """Replace a file with JSON: a reader sees the old or the new one, and the new one is on the disk."""
    raw = (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    replace_bytes(path, raw, mode)


def replace_bytes(path: Path, raw: bytes, mode: int = 0o600) -> None:
    """Replace a file with bytes, as `replace_with` does."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fchmod(stream.fileno(), mode)  # regardless of the umask
            os.fsync(stream.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted, without hidden ones; empty if the folder does not exist."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except FileNotFoundError:
        return []


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def held(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock file in a `with` block, against threads and processes; it is released when its process dies.

    Raises HackathonError on a file system without locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            # each caller opens the file again, so that two threads of a process also exclude each other
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise HackathonError(
                    "survey.no_locks",
                    "the file system of {folder} does not support locks, so a token could be counted twice",
                    hint="move the event's folder to your home or to a local disk; only `shared` must be on the "
                    "shared file system",
                    folder=path.parent,
                ) from error
            raise
        yield
    finally:
        os.close(descriptor)
