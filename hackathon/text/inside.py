"""Read files of a folder that others write in: no link leads outside, nothing blocks, everything is bounded."""

import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hackathon.text.files import objects, open_regular

GROWTH = 1 << 12
"""Bytes by which a file may grow between the look at its size and the reading."""
MOST = 16 << 20
"""Bytes of one file that are read at most, unless the caller wants fewer."""
ENTRIES = 20_000
"""Names of one folder that are looked at."""


class Inside:
    """A folder whose content is read as somebody else's: regular files in it, or where its links inside lead to.

    `also`: further folders that links may lead to, for files of the same owner as the folder itself.
    """

    def __init__(self, folder: Path, also: Sequence[Path] = ()) -> None:
        self.folder = folder
        self._root = os.path.realpath(folder)
        self._also = tuple(os.path.realpath(each) for each in also)
        try:
            self._owner = os.stat(self._root).st_uid  # noqa: PTH116 — plain strings: asked for every file
        except OSError:
            self._owner = -1

    def place(self, name: str) -> str | None:
        """Return the real path of something below the folder, None when it is not there or a link leads outside."""
        path = f"{self._root}/{name}"
        try:
            if not os.path.lexists(path):
                return None
            real = os.path.realpath(path)
            if _under(real, self._root):
                return real
            allowed = any(_under(real, each) for each in self._also)
            return real if allowed and os.stat(real).st_uid == self._owner else None  # noqa: PTH116
        except (OSError, ValueError):
            return None

    def read(self, name: str, limit: int = MOST) -> bytes | None:
        """Return the first `limit` bytes of a regular file; None for anything else, and when it can not be read."""
        found = self._open(name, 0, limit)
        return found[0] if found else None

    def end(self, name: str, limit: int) -> tuple[bytes, int] | None:
        """Return the last `limit` bytes of a regular file and its size; None as `read`."""
        return self._open(name, -1, limit)

    def _open(self, name: str, whence: int, limit: int) -> tuple[bytes, int] | None:
        place = self.place(name)
        if place is None:
            return None
        try:
            with open_regular(place) as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - limit) if whence else 0)
                # No more room than the file needs: for thousands of small files it costs more than the reading.
                return stream.read(min(limit, size + GROWTH)), size
        except OSError:
            return None

    def text(self, name: str, limit: int = MOST) -> str:
        """Return the start of a file as text, decoding never fails; empty as `read` is None."""
        return (self.read(name, limit) or b"").decode("utf-8", "replace")

    def json(self, name: str, limit: int = MOST) -> dict[str, Any]:
        """Return the object in a JSON file; empty when there is none, or when it is longer than `limit`."""
        try:
            value = json.loads((self.read(name, limit) or b"").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def lines(self, name: str, limit: int = MOST) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON-lines file; torn lines are passed over. Of a longer file the end is read."""
        found = self.end(name, limit)
        if found:
            yield from objects(found[0].split(b"\n"))

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder below, sorted; those of folders too. None are there when it can not be read."""
        return sorted(entry.name for entry in self._entries(folder))

    def _entries(self, folder: str) -> "list[os.DirEntry[str]]":
        place = self.place(folder) if folder else self._root
        try:
            with os.scandir(place or "") as entries:
                return list(islice(entries, ENTRIES))
        except OSError:
            return []

    def facts(self, names: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
        """Return (name, size, time of the last change in ns) of files below, and of those in folders below.

        With the same answer their contents are the same.
        """
        found = []
        for name in names:
            entries = self._entries(name)
            for entry in sorted(entries, key=lambda each: each.name):
                found += self._fact(f"{name}/{entry.name}", entry)
            if not entries:
                found += self._fact(name)
        return tuple(found)

    def _fact(self, name: str, entry: "os.DirEntry[str] | None" = None) -> list[tuple[str, int, int]]:
        try:
            if entry is not None and not entry.is_symlink():
                state = entry.stat(follow_symlinks=False)
            else:  # where a link leads is looked at only after it is known to be inside
                state = os.stat(self.place(name) or "")  # noqa: PTH116
        except OSError:
            return []
        return [(name, state.st_size, state.st_mtime_ns)]

    def strange(self, folders: Sequence[str]) -> list[str]:
        """Return what lies in these folders below and is not read: links that lead outside, pipes, sockets, devices.

        With an empty answer code that knows nothing of this class may read those folders (not what lies deeper).
        """
        found = []
        for folder in folders:
            path = f"{self._root}/{folder}"
            if not os.path.lexists(path):
                continue
            if not self._is_plain(folder):
                found.append(folder)
                continue
            for entry in self._entries(folder):
                plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
                if not plain and not self._is_plain(f"{folder}/{entry.name}"):
                    found.append(f"{folder}/{entry.name}")
        return sorted(found)

    def _is_plain(self, name: str) -> bool:
        """Return whether a name stands for a file or a folder that may be read."""
        place = self.place(name)
        return place is not None and (os.path.isfile(place) or os.path.isdir(place))  # noqa: PTH112, PTH113


def _under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
