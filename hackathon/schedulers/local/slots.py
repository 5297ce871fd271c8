"""One queue for slots a machine, shared by all its users: a file a job in a directory that anybody may write to.

The file of a job is locked (flock) by its supervisor as long as it lives, so that a dead supervisor frees its place by
itself. Order is that of the numbers. A job starts when no job before it waits and its slots are free: strictly first
come, first served, so that a large job is never passed by small ones for ever.

There is no lock that two accounts share: whoever may read a file or a directory can lock it, and with it stop all who
wait for that lock. A job claims its slots instead and then looks again: of two that claim at once one sees the other,
and steps back. Its own file nobody else can open before it is locked.
"""

import errno
import fcntl
import os
import re
import stat
import time
from pathlib import Path

from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.uptime import uptime

DEFAULT = "/tmp/hackathon-slots"
WAITS, RUNS = "waits", "runs"
FRESH = 3600.0
"""Seconds after which supervisors touch their places."""
STALE = 3 * FRESH
"""Seconds without a touch after which a place is a dead supervisor's, whoever holds a lock on its file."""
DOUBTED = 10.0
"""Seconds after which a place that looks stale is given up: when the clock jumps, all do, until they are touched."""
JUMPED = 60.0
"""Seconds by which the clock must have jumped for supervisors to touch their places at once."""
_NAME = re.compile(r"(\d{12})\.\d+\Z", re.ASCII)
_doubts: dict[tuple[str, int, int], float] = {}
"""Places that looked stale (path, inode, time of the last touch) → when that was seen first, by `uptime`."""


def capacity() -> int:
    """Return this machine's slots: HACKATHON_LOCAL_SLOTS, else the cores that this process may use."""
    text = os.environ.get("HACKATHON_LOCAL_SLOTS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**8):
        raise RequestError("local.slots", value=text)
    return int(text)


def place() -> Path:
    """Return the directory of the queue: HACKATHON_LOCAL_SLOTS_DIR, else one in /tmp."""
    return Path(os.environ.get("HACKATHON_LOCAL_SLOTS_DIR") or DEFAULT)


def counts(directory: Path) -> tuple[int, int]:
    """Return how many jobs run and how many wait for slots, of all users."""
    words = [entry[1] for name in _names(directory) if (entry := _read(directory / name))]
    return words.count(RUNS), words.count(WAITS)


def prepare(directory: Path) -> None:
    """Make the directory unless it is there; raises UnavailableError when it is not one that users can share."""
    mask = os.umask(0)
    try:
        directory.mkdir(mode=0o1777)
    except FileExistsError:
        pass
    except OSError as error:
        raise UnavailableError("local.unusable", path=directory, reason=error.strerror) from error
    finally:
        os.umask(mask)
    status = directory.lstat()
    shared = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o1777 == 0o1777
    if not shared and not (stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()):
        raise UnavailableError("local.slots_directory", path=directory)


class Ticket:
    """A job's place in the queue."""

    def __init__(self, directory: Path, need: int) -> None:
        self.directory = directory
        self.need = need
        self._path: Path | None = None
        self._file = -1
        self._before: Path | None = None
        """The next job before this one that waits; as long as it does, nothing else needs to be looked at."""

    def join(self) -> bool:
        """Take a place at the end; return False when it was lost to another job of this account (try again)."""
        last = max((int(name[:12]) for name in _names(self.directory)), default=0)
        path = self.directory / f"{last + 1:012d}.{os.getuid()}"
        try:
            # 600 until it is locked: only this account's own readers can lock it first, for microseconds
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not os.fstat(file).st_nlink:  # taken for a dead one's
                os.close(file)
                return False
            self._file, self._path = file, path
            self._write(WAITS)
            os.fchmod(file, 0o644)
        except OSError:
            if self._path is None:
                path.unlink(missing_ok=True)
                os.close(file)
            raise
        return True

    def start(self, total: int) -> bool:
        """Return True when the job may start; from then on it holds its slots of `total`."""
        if self._before is not None:
            entry = _read(self._before)
            if entry and entry[1] == WAITS:
                return False
        if not self._may_start(total):
            return False
        self._write(RUNS)
        if self._may_start(total):
            return True
        self._write(WAITS)  # another claimed at the same moment; the one before the other goes first
        return False

    def _may_start(self, total: int) -> bool:
        assert self._path is not None
        used = 0
        for name in reversed(_names(self.directory)):
            path = self.directory / name
            entry = _read(path, remove=True) if path != self._path else None
            if entry is None:
                continue
            if entry[1] == RUNS:
                used += entry[0]  # of a later number, too: two may have claimed at once
            elif name < self._path.name:
                self._before = path
                return False
        return not used or used + min(self.need, total) <= total

    def touch(self) -> None:
        """Say that the place is in use, for programs that clean /tmp."""
        if self._file >= 0:
            os.utime(self._file)

    def leave(self) -> None:
        """Give the place and the slots back."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._path, self._file = None, -1

    def _write(self, word: str) -> None:
        # One write of one length in place: a rename would leave the lock on the old file.
        os.pwrite(self._file, f"{min(self.need, 99999999):08d} {word:<5} \n".encode(), 0)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if _NAME.match(name))  # noqa: PTH208
    except FileNotFoundError:
        return []


def _read(path: Path, remove: bool = False) -> tuple[int, str] | None:
    """Return (slots, word) of a place whose supervisor lives, else None.

    `remove` clears away the place of a dead one of this account. Other users' places stay there; they do no harm.
    Raises OSError for a place of which nobody knows now whether its supervisor lives: the disk fails.
    """
    try:
        # NONBLOCK: whatever somebody put there, a pipe say, must not hold up the queue.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ESTALE, errno.EIO):
            raise
        return None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or _is_dead(path, status):
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            words = os.read(file, 32).decode("ascii", "replace").split()
            good = len(words) == 2 and words[0].isdigit() and words[1] in (WAITS, RUNS)
            return (int(words[0]), words[1]) if good else None
        if remove and status.st_uid == os.geteuid():
            _remove(path, file)
    finally:
        os.close(file)
    return None


def _remove(path: Path, file: int) -> None:
    """Remove a dead supervisor's place unless another is at it, or a new job has got its number."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), path.lstat()):
            path.unlink()
    except OSError:
        pass


def _is_dead(path: Path, status: os.stat_result) -> bool:
    """Return whether nobody has touched a place for too long, by a clock that may have jumped either way."""
    if abs(time.time() - status.st_mtime) - _slept() <= STALE:
        return False
    first = _doubts.setdefault((str(path), status.st_ino, status.st_mtime_ns), uptime())
    return uptime() - first > DOUBTED


def _slept() -> float:
    """Return the seconds that this machine was suspended, in which no supervisor could touch its place."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
