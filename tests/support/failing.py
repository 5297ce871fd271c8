"""System calls that fail, in this process: each call on files beneath a folder is counted, and one of them is refused.

A test repeats what it does with the first, the second, … call failing until nothing is left to fail. So no call is
forgotten, also none that is added later.
"""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.injected import injected

READING = ("open", "stat", "lstat", "fstat", "scandir", "listdir", "readlink", "access")
WRITING = ("rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "chmod", "fchmod", "fsync", "utime")


@dataclass
class Failing:
    """What was counted and refused."""

    folder: str
    at: int
    """The number of the call that fails, from 1."""
    errors: int
    names: tuple[str, ...]
    only: str = ""
    """A part of the path that a call must name to be counted."""
    lasting: bool = False
    """Whether the same call on the same path fails from then on, as with a file whose handle is stale for a while."""
    calls: int = 0
    refused: list[str] = field(default_factory=list)

    def look(self, name: str, path: str) -> None:
        """Count a call, and raise when it is the one."""
        if name not in self.names or not path.startswith(self.folder) or self.only not in path:
            return
        self.calls += 1
        told = f"{name} {path}"
        if self.calls == self.at or (self.lasting and told in self.refused):
            if not self.refused:
                injected()  # a call that fails for a while is one fault
            self.refused.append(told)
            raise OSError(self.errors, os.strerror(self.errors), path)


def _path(words: tuple[Any, ...], values: dict[str, Any]) -> str:
    """Return the whole path that a call names first; of a descriptor the one that it was opened by."""
    first = words[0] if words else values.get("path", values.get("src", "."))
    beside = values.get("dir_fd", values.get("src_dir_fd"))
    try:
        if isinstance(first, int):
            return str(Path(f"/proc/self/fd/{first}").readlink())
        start = Path(f"/proc/self/fd/{beside}").readlink() if beside is not None else Path.cwd()
        return str(start / os.fsdecode(os.fspath(first)))
    except (OSError, TypeError):
        return ""


@contextmanager
def failing(
    folder: Path,
    at: int,
    code: int = errno.ESTALE,
    names: tuple[str, ...] = (*READING, *WRITING),
    only: str = "",
    lasting: bool = False,
) -> Iterator[Failing]:
    """Let one call on files beneath a folder fail in a `with` block. Streams are opened and fail like files."""
    found = Failing(str(folder), at, code, names, only, lasting)
    kept = {name: getattr(os, name) for name in (*READING, *WRITING)}
    readlink, opens = os.readlink, builtins.open
    busy: list[bool] = []

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **values: Any) -> Any:
            if not busy:
                busy.append(True)  # what is asked to know the path is not counted
                try:
                    path = _path(words, values)
                finally:
                    busy.clear()
                found.look(name, path)
            return real(*words, **values)

        return call

    try:
        for name, real in kept.items():
            setattr(os, name, wrapped(name, real))
        for module in (builtins, io):
            module.open = wrapped("open", opens)  # type: ignore[attr-defined]
        yield found
    finally:
        for name, real in kept.items():
            setattr(os, name, real)
        assert os.readlink is readlink
        for module in (builtins, io):
            module.open = opens  # type: ignore[attr-defined]
