"""Which runs a folder has and whether their files have changed, with as few looks at the disk as will do."""

import contextlib
import os
import time

from hackathon.share.places import Bounds

Signature = tuple[int, ...]
"""For each of FACTS its time of change in nanoseconds plus its size, 0 for what is not there."""
FACTS = (
    "/client", "/final.json", "/request.json", "/claim", "/events", "/events/job.jsonl", "/metrics",
    "/metrics/rank-0.jsonl", "/logs", "/logs/job.log", "/logs/rank-0.log",
)  # fmt: skip
"""What changes with a run's state and numbers; of a closed run only the first one is looked at."""
LISTED, SETTLED = 30.0, 10.0
"""Seconds after which a folder is listed again without a sign of a change; and for which a fresh change may hide
another one, for want of finer clocks."""


class Listing:
    """The runs in one folder `runs`, listed again when the folder has changed."""

    def __init__(self, folder: str) -> None:
        self.names: dict[str, None] = {}
        self.unreadable = 0
        """Folders in it that this user may not read."""
        self.lost = False
        """Whether the last change took runs away."""
        self._folder = folder
        self._changed = -1
        self._listed = -1e9
        self._fresh = True
        # the folder had changed shortly before it was listed: more may have come with the same time

    def look(self, bounds: Bounds, clock: float) -> bool:
        """Bring `names` up to date and return whether they changed; a folder that is gone has none.

        `clock`: now, in seconds of the monotonic clock.
        """
        before = self.names
        try:
            changed = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 — plain strings: done for every project
        except OSError:
            self.names, self._changed, self._fresh = {}, -1, True
            self.lost = bool(before)
            return self.lost
        if changed == self._changed and not self._fresh and clock - self._listed < LISTED:
            return False
        self._fresh = abs(time.time() - changed / 1e9) < SETTLED or changed != self._changed
        self._changed, self._listed = changed, clock
        names: dict[str, None] = {}
        self.unreadable = 0
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == "." or not name.isprintable():
                        continue
                    if entry.is_symlink() and not _is_allowed(entry, bounds):
                        continue
                    if not entry.is_dir():
                        continue
                    if name not in self.names and not _is_run(entry.path):
                        self.unreadable += not os.access(entry.path, os.R_OK | os.X_OK, effective_ids=True)
                        continue
                    names[name] = None
        except PermissionError:
            names = {}
        except OSError:  # a server that does not answer now: what was known stays until it does
            self._changed = -1
            return False
        self.names = names
        self.lost = any(name not in names for name in before)
        return self.lost or len(names) != len(before)


def _is_allowed(entry: "os.DirEntry[str]", bounds: Bounds) -> bool:
    """Return whether a link may be followed, to a folder; one to itself, or to where nobody may look, may not."""
    try:
        return bounds.allow(entry.path) and entry.is_dir()
    except OSError:
        return False


def mark(path: str) -> int:
    """Return a number that changes with a file: its time of change in nanoseconds plus its bytes; 0 without one."""
    try:
        found = os.stat(path)  # noqa: PTH116 — plain strings: this is done for thousands of files
    except OSError:
        return 0
    return found.st_mtime_ns + found.st_size


def signature_of(base: str, *, surely: bool = False) -> Signature:
    """Return the signature of a run's folder; `surely`: as the file server has it, not as this host remembers it.

    NFS answers `stat` from a memory that may be a minute old; opening a file or a folder asks the server (nfs(5),
    close-to-open consistency).
    """
    for name in ("/events", "/events/job.jsonl") if surely else ():
        with contextlib.suppress(OSError):
            os.close(os.open(base + name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    return tuple(mark(base + name) for name in FACTS)


def _is_run(path: str) -> bool:
    """Return whether a folder is a run: it has a request, even a broken one."""
    return os.path.lexists(f"{path}/request.json")
