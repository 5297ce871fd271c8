"""What was read or made lately, for whoever asks for it again: one memory for one server or one publication."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any


class Memory:
    """Values by the name of a table and a key; the oldest of a full table go. Several threads may use it at once."""

    def __init__(self) -> None:
        self._tables: dict[str, OrderedDict[Hashable, Any]] = {}
        self._lock = threading.Lock()
        self.folder: Path | None = None
        """Where drawings lie between two publications: on a disk of this machine, derived; None: nowhere."""
        self.pictures: Callable[..., list[bytes]] | None = None
        """What draws, where a process of a server's stays for it; None: each time another one."""

    def __reduce__(self) -> tuple[type["Memory"], tuple[()]]:
        """Go to another process empty."""
        return Memory, ()

    def recall(self, table: str, key: Hashable) -> Any | None:
        """Return what is kept under a key, None when there is nothing."""
        with self._lock:
            return self._tables[table].get(key) if table in self._tables else None

    def keep(self, table: str, key: Hashable, value: Any, most: int) -> None:
        """Keep a value, and of its table `most` values at most."""
        with self._lock:
            values = self._tables.setdefault(table, OrderedDict())
            values[key] = value
            values.move_to_end(key)
            while len(values) > most:
                values.popitem(last=False)

    def forget(self, table: str, key: Hashable) -> None:
        """Keep nothing under a key any more."""
        with self._lock:
            if table in self._tables:
                self._tables[table].pop(key, None)
