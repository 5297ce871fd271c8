"""Parse the Meter files of a run's ranks once for numbers, doubts and shares."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hackathon.text.files import objects, open_regular

SMALL = 64 << 10
"""Bytes of a file up to which its lines are cached; each caller reads longer ones itself, as far as needed."""
TOGETHER = 1 << 20
"""Bytes of all files of a run whose lines are cached; as objects they take ten times as much."""
_CUTS = b"\r\x1b\0"
"""Bytes at which a log, but not a JSON file, is split into lines."""


class MeterFiles:
    """The files `metrics/rank-<n>.jsonl` of a run; small ones are parsed on first use.

    For one reading of a run: later writes are not visible.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        """`files`: in the order of ranks."""
        self.files = files
        self._held: dict[str, tuple[int, list[dict[str, Any]]] | None] = {}
        """Name → (bytes, objects)."""
        self._left = TOGETHER

    def objects(self, file: Path, most: int) -> list[dict[str, Any]] | None:
        """Return all objects in one of the files; callers must not change them.

        None when it has more than `most` bytes, is long or unusual, or cannot be read: then the caller reads it.
        """
        if file.name not in self._held:
            self._held[file.name] = self._read(file)
        contents = self._held[file.name]
        return contents[1] if contents is not None and contents[0] <= most else None

    def _read(self, file: Path) -> tuple[int, list[dict[str, Any]]] | None:
        most = min(SMALL, self._left)
        try:
            with open_regular(file) as stream:
                raw = stream.read(most + 1)
        except OSError:
            return None
        if len(raw) > most or any(byte in raw for byte in _CUTS):
            return None
        self._left -= len(raw)
        return len(raw), list(objects(raw.split(b"\n")))
