"""Which runs a folder contains and whether their files have changed, with as few file accesses as possible."""

import os
import time
from collections.abc import Iterable

from hackathon.index.projects import Containment
from hackathon.runs.directory import REMOVED, files_of

Signature = tuple[int, ...]
"""For each of FACTS its modification time in nanoseconds plus its size, 0 for a missing file."""
FACTS = (
    "/client", "/final.json", "/request.json", "/claim", "/events", "/events/job.jsonl", "/metrics",
    "/metrics/rank-0.jsonl", "/logs", "/logs/job.log", "/logs/rank-0.log",
)  # fmt: skip
"""Files that change with a run's state and numbers; for a closed run only the first one is checked."""
LISTED, SETTLED = 30.0, 10.0
"""Seconds until an unchanged folder is listed again; and for which a new change may hide another.

Modification times have a coarse resolution.
"""


class Listing:
    """The runs in one folder `runs`, including cleaned-up ones, listed again when the folder changes."""

    def __init__(self, folder: str, runs_before: Iterable[str] = ()) -> None:
        """Start empty; `runs_before`: paths that are known to be runs, which are not examined again."""
        self.names: dict[str, str] = {}
        """Run's id → its path in the folder; of a cleaned-up run `.removed/<id>`."""
        self.unreadable: list[str] = []
        """Names of subfolders that this user may not read."""
        self.outside: list[str] = []
        """Reasons why links are not followed: they lead out of the allowed folders."""
        self.closed = ""
        """Why the folder itself cannot be listed; empty if it can be, or is missing."""
        self.lost = False
        """Whether the last change removed or moved runs."""
        self._folder = folder
        self._known = frozenset(runs_before)
        self._changed = (-1, -1)
        self._listed = -1e9
        self._fresh = True
        # the folder changed shortly before it was listed, so later entries may have the same time

    def look(self, bounds: Containment, clock: float) -> bool:
        """Update `names` and return whether they changed; a missing folder has none.

        `clock`: now, in seconds of the monotonic clock.
        """
        before = self.names
        try:
            changed = (os.stat(self._folder).st_mtime_ns, mark(f"{self._folder}/{REMOVED}"))  # noqa: PTH116 — plain
        except OSError as error:
            gone = isinstance(error, (FileNotFoundError, NotADirectoryError))
            self.closed = "" if gone else error.strerror or str(error)
            self.names, self._changed, self._fresh = {}, (-1, -1), True
            self.lost = bool(before)
            return self.lost
        if changed == self._changed and not self._fresh and clock - self._listed < LISTED:
            return False
        newest = max(changed) / 1e9
        self._fresh = abs(time.time() - newest) < SETTLED or changed != self._changed
        self._changed, self._listed = changed, clock
        self.unreadable, self.outside, self.closed = [], [], ""
        names: dict[str, str] = {}
        try:
            names = self._in("", bounds)
            names = {**self._removed(bounds), **names}
        except PermissionError as error:
            self.closed = error.strerror or str(error)
        except OSError:  # a server that does not answer: the earlier names stay until it does
            self._changed = (-1, -1)
            return False
        self.names = names
        self.lost = any(names.get(name) != subfolder for name, subfolder in before.items())
        return self.lost or len(names) != len(before)

    def _removed(self, bounds: Containment) -> dict[str, str]:
        folder = f"{self._folder}/{REMOVED}"
        if not os.path.isdir(folder) or os.path.islink(folder):  # noqa: PTH112, PTH114 — plain strings
            return {}
        try:
            return self._in(f"{REMOVED}/", bounds)
        except PermissionError:
            return {}

    def _in(self, below: str, bounds: Containment) -> dict[str, str]:
        """Return name → path of the runs in the folder, or in a subfolder. Raises OSError."""
        names: dict[str, str] = {}
        with os.scandir(f"{self._folder}/{below}") as entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." or not name.isprintable():
                    continue
                if entry.is_symlink() and not _is_allowed(entry, bounds):
                    if not below and os.path.isdir(entry.path):  # noqa: PTH112
                        self.outside.append(bounds.refusal(entry.path))
                    continue
                try:
                    if not entry.is_dir():
                        continue
                except OSError:
                    continue
                subfolder = below + name
                if self.names.get(name) != subfolder and subfolder not in self._known and not _is_run(entry.path):
                    if not os.access(entry.path, os.R_OK | os.X_OK, effective_ids=True):
                        self.unreadable.append(name)
                    continue
                names[name] = subfolder
        return names


def _is_allowed(entry: "os.DirEntry[str]", bounds: Containment) -> bool:
    """Return whether a link may be followed to a folder; not to itself, and not out of the allowed folders."""
    try:
        return bounds.allow_run(entry.path) and entry.is_dir()
    except OSError:
        return False


def mark(path: str) -> int:
    """Return a number that changes with a file: modification time in ns plus size; 0 if it is missing."""
    try:
        status = os.stat(path)  # noqa: PTH116 — plain strings: this is done for thousands of files
    except OSError:
        return 0
    return status.st_mtime_ns + status.st_size


def signature_of(base: str, *, surely: bool = False) -> Signature:
    """Return the signature of a run's folder; with `surely`, from the file server instead of this host's cache.

    NFS answers `stat` from a cache that may be a minute old; opening a file or a folder asks the server (nfs(5),
    close-to-open consistency).
    """
    if surely:
        files = files_of(base)
        files.names("events")
        files.read("events/job.jsonl", 1)
    return tuple(mark(base + name) for name in FACTS)


def _is_run(path: str) -> bool:
    """Return whether a folder is a run: it contains a request, even a broken one."""
    return os.path.lexists(f"{path}/request.json")
