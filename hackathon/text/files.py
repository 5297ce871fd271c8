"""Whole files by rename, which is safe on NFS and Lustre with many readers; reading that no foreign file holds up."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from hackathon.text.messages import message

HOLE = 64 << 10
"""Zero bytes in a row that are taken for a hole: a sparse file of any size costs its writer nothing."""
_TOGETHER = 256
"""Lines of JSON that are parsed at once."""
LARGEST = 64 << 20
"""Bytes of a file of JSON that are read: nobody's records are larger, and a foreign file may have any size."""


def write_whole(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part of it.

    The temporary file lies in the same directory and carries host-unique and process-unique parts in its name.
    Raises OSError (disk full, no permission, no regular file there) and then leaves no temporary file behind.
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
    """Return whether a device or a pipe is there, which a rename would take away: `--to /dev/null` as root."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON by rename; non-finite numbers are refused (ValueError), text stays readable."""
    write_whole(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def open_regular(path: Path | str) -> BinaryIO:
    """Return a file opened for reading. Raises OSError, also for what is no regular file.

    A pipe, socket or device in the place of a file, made by a program or by somebody, never makes the reader wait.
    A path that opens itself (access.guarded_path) does so by its own rules.
    """
    guarded = getattr(path, "open_regular", None)
    if guarded is not None:
        return cast(BinaryIO, guarded())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, message("access.kind"), str(path))
        return open(descriptor, "rb")  # noqa: PTH123 — a descriptor, not a path; the caller closes it
    except BaseException:
        os.close(descriptor)
        raise


def read_data(stream: BinaryIO, size: int, position: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (position, block of at most `size` bytes) of a file that stands at `position`, to its end or to `end`.

    Of a hole, and of as many zeros that take room, there is only (the place behind it, no bytes): a zero is neither a
    line end nor a word.
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
    """Go on where a file has data again, or to its end; return how many bytes lie between. A pipe stays as it is."""
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
    """Return what `read_json` does, but raise OSError where nobody knows what is in the file, or whether it is there.

    For files on which it depends what is deleted or written next: a stale handle is no missing file.
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
    """Return whether a folder names a file, which may not be there to be opened yet (NFS). Raises OSError."""
    try:
        return any(entry.name == path.name for entry in path.parent.iterdir())
    except FileNotFoundError:
        return False


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON-lines file; torn lines, a missing file and what goes beyond LARGEST are passed over.

    Nothing is held open between two of them.
    """
    try:
        with open_regular(path) as stream:
            # a foreign file may be one line of any length; no more room is taken than the file needs
            raw = stream.read(min(LARGEST, os.fstat(stream.fileno()).st_size))
    except OSError:
        return
    yield from objects(raw.split(b"\n"))


def objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects among lines of JSON; torn lines and other values are passed over."""
    return objects_of(raw.decode("utf-8", "replace") for raw in lines)


def objects_of(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects among lines of JSON; many lines are read at once, one by one only where one of them is torn."""
    texts = filter(None, lines)  # a whole file ends with an empty one
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
