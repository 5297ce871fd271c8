"""Whole files by rename, lines by append: the two ways of writing that are safe on NFS and Lustre with many readers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def write_whole(path: Path, data: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part of it.

    The temporary file lies in the same directory and carries host-unique and process-unique parts in its name.
    Raises OSError (disk full, no permission) and then leaves no temporary file behind.
    """
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


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON by rename; non-finite numbers are refused (ValueError), text stays readable."""
    write_whole(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any | None:
    """Return the value in a JSON file, or None when the file is missing, half-written or not JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Append one JSON line with a single write, so that lines of one writer never interleave."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode("utf-8", "surrogateescape"))
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON-lines file; torn lines and a missing file are passed over."""
    try:
        stream = path.open("rb")
    except OSError:
        return
    with stream:
        for raw in stream:
            try:
                value = json.loads(raw.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
