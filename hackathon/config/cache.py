"""Checked files, kept as JSON in the user's cache, so that reading one again does not need YAML.

The key covers everything that the result depends on: the toolkit's version, this package's source, the kind of record,
the expected name, and the file's bytes. If the cache is deleted, damaged, read-only or missing, the file is silently
checked again.
"""

import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hackathon import __version__
from hackathon.text.files import write_whole
from hackathon.text.paths import user_cache

KEPT = 300
"""Files in the cache, at most; the oldest are deleted first."""


def cache_key(kind: str, name: str | None, raw: bytes) -> str:
    """Return the cache key for the result of checking these bytes."""
    head = json.dumps([__version__, _source_version(), kind, name])
    return hashlib.sha256(head.encode() + b"\0" + raw).hexdigest()


def recall(key: str) -> Any | None:
    """Return the cached value of a key, or None when it is missing or damaged."""
    try:
        content = (_folder() / f"{key}.json").read_bytes()
        digest, _, payload = content.partition(b"\n")
        if digest != hashlib.sha256(payload).hexdigest().encode():
            return None
        return json.loads(payload)
    except (OSError, ValueError, RuntimeError, RecursionError):
        return None


def keep(key: str, value: Any) -> None:
    """Cache a JSON value, readable only by its owner; write errors are ignored."""
    payload = json.dumps(value, ensure_ascii=False).encode()
    try:
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest = hashlib.sha256(payload).hexdigest().encode()
        write_whole(folder / f"{key}.json", digest + b"\n" + payload, mode=0o600)
        _forget_oldest(folder)
    except (OSError, ValueError, RuntimeError):
        return


def _folder() -> Path:
    return user_cache() / "config"


def _forget_oldest(folder: Path) -> None:
    with os.scandir(folder) as entries:
        cached = [entry for entry in entries if entry.name.endswith(".json")]
    if len(cached) > KEPT:
        for entry in sorted(cached, key=lambda file: file.stat().st_mtime)[: len(cached) - KEPT * 3 // 4]:
            Path(entry.path).unlink(missing_ok=True)


@functools.cache
def _source_version() -> str:
    """Return a text that changes with the code that checks files: names, sizes and times of its modules."""
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    units = os.path.join(os.path.dirname(package), "text")  # noqa: PTH118, PTH120
    marks = []
    for folder, file_name in ((package, None), (units, "units.py")):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py") and file_name in (None, entry.name):
                    status = entry.stat()
                    marks.append(f"{entry.name}:{status.st_size}:{status.st_mtime_ns}")
    return " ".join(sorted(marks))
