"""One queue for a machine's slots, shared by all users: one file per job in a directory open to everybody.

A job's supervisor locks its file (flock) for its whole life, so that a dead supervisor releases its entry by itself.
The order is that of the numbers. A job starts when no earlier job waits and its slots are free: strictly first come,
first served, so that small jobs never pass a large one forever.

No lock is shared between accounts: anybody who can read a file or directory can lock it, and so block everybody who
waits for that lock. Instead a job claims its slots and then checks again: of two concurrent claims, one sees the other
and withdraws. Nobody else can open its own file before it is locked.
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
"""Seconds after which supervisors touch their entries."""
STALE = 3 * FRESH
"""Seconds without a touch after which an entry is a dead supervisor's, even if its file is locked."""
DOUBTED = 10.0
"""Seconds for which an entry must look stale: after a jump of the clock, all do until they are touched."""
JUMPED = 60.0
"""Seconds by which the clock must have jumped for supervisors to touch their entries at once."""
_NAME = re.compile(r"(\d{12})\.\d+\Z", re.ASCII)
_doubts: dict[tuple[str, int, int], float] = {}
"""Entries that look stale (path, inode, time of the last touch) → when that was first noticed, by `uptime`."""


def capacity() -> int:
    """Return this machine's slots: HACKATHON_LOCAL_SLOTS, else the cores that this process may use."""
    text = os.environ.get("HACKATHON_LOCAL_SLOTS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**8):
        raise RequestError(
            "local.slots", "HACKATHON_LOCAL_SLOTS must be an integer greater than zero, not {value}.", value=text
        )
    return int(text)


def place() -> Path:
    """Return the directory of the queue: HACKATHON_LOCAL_SLOTS_DIR, else one in /tmp."""
    return Path(os.environ.get("HACKATHON_LOCAL_SLOTS_DIR") or DEFAULT)


def counts(directory: Path) -> tuple[int, int]:
    """Return how many jobs run and how many wait for slots, of all users."""
    words = [entry[1] for name in _names(directory) if (entry := _read(directory / name))]
    return words.count(RUNS), words.count(WAITS)


def prepare(directory: Path) -> None:
    """Create the directory if needed; raise UnavailableError when users cannot share it."""
    mask = os.umask(0)
    try:
        directory.mkdir(mode=0o1777)
    except FileExistsError:
        pass
    except OSError as error:
        raise UnavailableError(
            "local.unusable", "Cannot use {path}: {reason}", path=directory, reason=error.strerror
        ) from error
    finally:
        os.umask(mask)
    status = directory.lstat()
    shared = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o1777 == 0o1777
    if not shared and not (stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()):
        raise UnavailableError(
            "local.slots_directory",
            "{path} is not a directory that users can share (mode 1777).",
            hint="Ask its owner, or choose another one with HACKATHON_LOCAL_SLOTS_DIR.",
            path=directory,
        )


class Ticket:
    """A job's entry in the queue."""

    def __init__(self, directory: Path, need: int) -> None:
        self.directory = directory
        self.need = need
        self._path: Path | None = None
        self._file = -1
        self._before: Path | None = None
        """The nearest earlier job that waits. While it waits, no other entry needs checking."""

    def join(self) -> bool:
        """Take an entry at the end; return False when another job of this account took it (try again)."""
        last = max((int(name[:12]) for name in _names(self.directory)), default=0)
        path = self.directory / f"{last + 1:012d}.{os.getuid()}"
        try:
            # Mode 600 until it is locked: only this account's own readers can lock it first, for microseconds.
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not os.fstat(file).st_nlink:  # another process removed it as a dead job's
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
        """Return True when the job may start; from then on it has its slots of `total`."""
        if self._before is not None:
            entry = _read(self._before)
            if entry and entry[1] == WAITS:
                return False
        if not self._may_start(total):
            return False
        self._write(RUNS)
        if self._may_start(total):
            return True
        self._write(WAITS)  # another job claimed at the same time; the earlier one goes first
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
                used += entry[0]  # include later numbers: two jobs may have claimed at the same time
            elif name < self._path.name:
                self._before = path
                return False
        return not used or used + min(self.need, total) <= total

    def touch(self) -> None:
        """Mark the entry as used, for programs that clean /tmp."""
        if self._file >= 0:
            os.utime(self._file)

    def leave(self) -> None:
        """Release the entry and the slots."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._path, self._file = None, -1

    def _write(self, word: str) -> None:
        # Overwrite in place, with one write of fixed length: a rename would leave the lock on the old file.
        os.pwrite(self._file, f"{min(self.need, 99999999):08d} {word:<5} \n".encode(), 0)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if _NAME.match(name))  # noqa: PTH208
    except FileNotFoundError:
        return []


def _read(path: Path, remove: bool = False) -> tuple[int, str] | None:
    """Return (slots, word) of an entry whose supervisor lives, else None.

    `remove`: delete a dead entry of this account. Other users' dead entries stay; they do no harm. Raises OSError when
    the disk fails, so that it is unknown whether the supervisor lives.
    """
    try:
        # O_NONBLOCK: a pipe or other special file here must not block the queue.
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
    """Delete a dead supervisor's entry unless another process is doing so, or a new job has its number."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), path.lstat()):
            path.unlink()
    except OSError:
        pass


def _is_dead(path: Path, status: os.stat_result) -> bool:
    """Return whether an entry was not touched for too long, by a clock that may have jumped either way."""
    if abs(time.time() - status.st_mtime) - _slept() <= STALE:
        return False
    first = _doubts.setdefault((str(path), status.st_ino, status.st_mtime_ns), uptime())
    return uptime() - first > DOUBTED


def _slept() -> float:
    """Return the seconds for which this machine was suspended: no supervisor could touch its entry then."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
