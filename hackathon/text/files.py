"""Write complete files by rename, safe on NFS and Lustre; read foreign files without blocking."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from hackathon.text.messages import _

HOLE = 64 << 10
"""Consecutive zero bytes that count as a hole: a sparse file of any size costs its writer nothing."""
_TOGETHER = 256
"""Lines of JSON that are parsed at once."""
LARGEST = 64 << 20
"""Bytes of a JSON file that are read: real records are smaller, and a foreign file may have any size."""


def write_whole(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees either the old or the new content, never a part.

    The temporary file is in the same directory, with a name unique to host and process. Raises OSError (disk full, no
    permission, not a regular file) and then leaves no temporary file.
    """
    if _special(path):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.uname().nodename}.{os.getpid()}.{os.urandom(3).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(raw)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which a rename would replace: `--to /dev/null` as root."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON by rename; non-finite numbers raise ValueError, text stays readable."""
    write_whole(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file for reading. Raises OSError, also when it is not a regular file.

    A pipe, socket or device in its place never blocks the reader. A path that opens itself (access.guarded_path) uses
    its own rules.
    """
    guarded = getattr(path, "open_regular", None)
    if guarded is not None:
        return cast(BinaryIO, guarded())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, _("it is not a regular file"), str(path))
        return open(descriptor, "rb")  # noqa: PTH123 — a descriptor, not a path; the caller closes it
    except BaseException:
        os.close(descriptor)
        raise


def read_data(stream: BinaryIO, size: int, position: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (position, block of at most `size` bytes) of a file from `position` to its end or to `end`.

    A hole, or as many zeros on disk, yields only (position after it, no bytes): zeros are neither line ends nor words.
    """
    while end is None or position < end:
        block = stream.read(size if end is None else min(size, end - position))
        if not block:
            return
        if block.startswith(b"\0") and len(block) >= min(HOLE, size) and block == bytes(len(block)):
            position += len(block) + _skip_hole(stream)
            yield position, b""
        else:
            yield position, block
            position += len(block)


def _skip_hole(stream: BinaryIO) -> int:
    """Seek to the next data of a file, or to its end; return the number of skipped bytes. Pipes are unchanged."""
    try:
        current = stream.tell()
        try:
            following = os.lseek(stream.fileno(), current, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                return 0
            following = os.lseek(stream.fileno(), 0, os.SEEK_END)  # no data up to the end
        stream.seek(max(current, following))
    except OSError:
        return 0
    return max(0, following - current)


def read_json(path: Path) -> Any | None:
    """Return the value in a JSON file, or None when it is missing, half-written, not JSON or larger than LARGEST."""
    try:
        return known_json(path)
    except OSError:
        return None


def known_json(path: Path) -> Any | None:
    """Return the same as `read_json`, but raise OSError when the file is unreadable or its existence is unknown.

    For files that decide what is deleted or written next: a stale handle is not a missing file.
    """
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size > LARGEST:
                return None
            return json.loads(stream.read().decode("utf-8", "surrogateescape"))
    except FileNotFoundError:
        if listed(path):
            raise
        return None
    except (ValueError, RecursionError):
        return None


def listed(path: Path) -> bool:
    """Return whether a folder lists a file, which may not be accessible yet (NFS). Raises OSError."""
    try:
        return any(entry.name == path.name for entry in path.parent.iterdir())
    except FileNotFoundError:
        return False


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON-lines file; skip incomplete lines, a missing file and content beyond LARGEST.

    The file is not kept open between two objects.
    """
    try:
        with open_regular(path) as stream:
            # a foreign file may be a single line of any length; allocate no more than the file needs
            raw = stream.read(min(LARGEST, os.fstat(stream.fileno()).st_size))
    except OSError:
        return
    yield from objects(raw.split(b"\n"))


def objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects among lines of JSON; incomplete lines and other values are skipped."""
    return objects_of(raw.decode("utf-8", "replace") for raw in lines)


def objects_of(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects among lines of JSON: many lines at once, or one by one if one of them is incomplete."""
    texts = filter(None, lines)  # a complete file ends with an empty line
    while some := list(islice(texts, _TOGETHER)):
        values: list[Any] = []
        if all(text[:1] == "{" and text[-1:] == "}" for text in some):
            with suppress(ValueError, RecursionError):
                values = json.loads(f"[{','.join(some)}]")
        if len(values) != len(some):
            values = [_value(text) for text in some]
        yield from (value for value in values if isinstance(value, dict))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
