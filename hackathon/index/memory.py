"""A cache of recently read or computed values, one for each server or publication."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any


class Memory:
    """Values by table and key; a full table drops its oldest. Several threads may use it at once."""

    def __init__(self) -> None:
        self._tables: dict[str, OrderedDict[Hashable, Any]] = {}
        self._lock = threading.Lock()
        self.folder: Path | None = None
        """The folder of cached drawings between two publications, on a local disk; None: no cache on disk."""
        self.pictures: Callable[..., list[bytes]] | None = None
        """Draws pictures in a process that a server keeps running; None: a new process each time."""

    def __reduce__(self) -> tuple[type["Memory"], tuple[()]]:
        """Become empty in another process."""
        return Memory, ()

    def recall(self, table: str, key: Hashable) -> Any | None:
        """Return the value of a key; None if there is none."""
        with self._lock:
            return self._tables[table].get(key) if table in self._tables else None

    def keep(self, table: str, key: Hashable, value: Any, most: int) -> None:
        """Store a value, and at most `most` values in its table."""
        with self._lock:
            values = self._tables.setdefault(table, OrderedDict())
            values[key] = value
            values.move_to_end(key)
            while len(values) > most:
                values.popitem(last=False)

    def forget(self, table: str, key: Hashable) -> None:
        """Remove the value of a key."""
        with self._lock:
            if table in self._tables:
                self._tables[table].pop(key, None)
