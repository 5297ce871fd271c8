"""Write and read the files of a board: whole, without a lock, each attributed to its owner.

Written to a hidden name and linked to the final one, which fails when the name is taken: safe on NFS and Lustre with
many writers. Read through descriptors that follow no link and wait for no FIFO, so that what was checked is what is
read. What is not a well-formed entry of its owner is passed over and told about.
"""

import os
import stat
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from hackathon.access.permissions import others_write, user_name
from hackathon.access.publish import publish, sweep
from hackathon.board.directory import BoardDirectory, folder_problems
from hackathon.board.entry import ENDING, LARGEST, BadEntry, Entry, clean_line, decode, encode, new_id, uid_in
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import message

SKEW = 300.0
"""Seconds that the clocks of hosts and of the file server may differ."""
MOST_ENTRIES, MOST_BYTES = 2000, 20_000_000
"""Of one user; what is more is passed over, so that nobody can make the board unreadable."""
MOST_NAMES = 20_000
"""Files of one folder that are looked at; of more, the newest by their names, of each user in turn."""
MOST_STRAYS = 500
"""Files of one folder with the name of no entry that are looked at: for a reason, and for who leaves them there."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Owned:
    """An entry and the user who owns its file."""

    entry: Entry
    uid: int
    future: bool = False
    """Whether it claims a time after the file system's; its time was put right."""


@dataclass(frozen=True)
class PassedOver:
    """A file on the board that is not taken for what it claims to be."""

    name: str
    uid: int | None
    why: str
    """garbage, newer, other_name, other_board, link, special, large, many, writable, unreadable, foreign,
    no_such_post, not_allowed, crowded."""
    count: int = 1
    """Files that it stands for; of a crowded folder those that were not looked at."""
    most: int = 0
    """Of a crowded folder: files of `uid`, who has the most, among those that were `asked` about."""
    asked: int = 0

    @property
    def reason(self) -> str:
        """Why, in the current language."""
        values = {"count": self.count, "most": self.most, "asked": self.asked} if self.why == "crowded" else {}
        return message(f"board.over_{self.why}", **values)


def write_entry(directory: BoardDirectory, entry: Entry) -> Owned:
    """Write a new entry of the current user and return it with the id it got.

    Raises RequestError when the board lets others alter what is on it or has no folder for this user, HackathonError
    when the file cannot be written.
    """
    if directory.problems:
        identifier, values = directory.problems[0]
        raise RequestError(identifier, **values)
    try:
        with _own_folder(directory) as folder:
            while True:
                now = time.time()
                stamped = replace(entry, id=new_id(os.geteuid(), now), time=now, board=directory.board)
                try:
                    publish(folder, f"{stamped.id}{ENDING}", encode(stamped))
                except FileExistsError:
                    continue
                sweep(folder)
                return Owned(stamped, os.geteuid())
    except OSError as error:
        raise HackathonError("board.can_not_write", path=directory.folder, what=error.strerror or str(error)) from error


@contextmanager
def _own_folder(directory: BoardDirectory) -> Iterator[int]:
    """Yield a descriptor of the directory that the current user writes in."""
    with _opened(str(directory.folder)) as folder:
        problems = folder_problems(directory, os.fstat(folder))
        if problems:
            identifier, values = problems[0]
            raise RequestError(identifier, **values)
        if directory.mode == "sticky":
            yield folder
            return
        user = user_name(os.geteuid())
        try:
            own = os.open(user, _OPEN_FOLDER, dir_fd=folder)
        except OSError as error:
            raise RequestError("board.no_folder", path=directory.folder / user, user=user) from error
        try:
            if os.fstat(own).st_uid != os.geteuid():
                raise RequestError("board.no_folder", path=directory.folder / user, user=user)
            yield own
        finally:
            os.close(own)


@contextmanager
def _opened(path: str, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, _OPEN_FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_entries(directory: BoardDirectory) -> tuple[list[Owned], list[PassedOver]]:
    """Return all entries, the oldest first, and the files that were passed over.

    Raises HackathonError when the directory cannot be read, or is not the one that the board's keepers made.
    """
    reader = _Reader(directory)
    try:
        with _opened(str(directory.folder)) as folder:
            problems = folder_problems(directory, os.fstat(folder))
            if problems and problems[0][0] == "board.folder_replaced":
                raise HackathonError(problems[0][0], **problems[0][1])
            if directory.mode == "sticky":
                reader.take_all(folder, None)
            else:
                reader.take_people(folder)
    except OSError as error:
        raise HackathonError("board.can_not_read", path=directory.folder, what=error.strerror or str(error)) from error
    reader.found.sort(key=lambda owned: (owned.entry.time, owned.entry.id))
    return reader.found, reader.passed


def _newest(names: list[str], most: int) -> list[str]:
    """Return `most` of the names of entries, given the newest first: of each user that they name the newest in turn."""
    if len(names) <= most:
        return names
    counts: Counter[int | None] = Counter()
    turns = []
    for position, name in enumerate(names):
        uid = uid_in(name)
        turns.append((counts[uid], position))
        counts[uid] += 1
    return [names[position] for _, position in sorted(turns)[:most]]


def _sample(names: list[str]) -> list[str]:
    """Return at most MOST_STRAYS of the names, from all parts of the list."""
    return names[:: -(-len(names) // MOST_STRAYS) or 1]


class _Reader:
    """Collects the entries of a board."""

    def __init__(self, directory: BoardDirectory) -> None:
        self._place = directory
        self._entries: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self.found: list[Owned] = []
        self.passed: list[PassedOver] = []

    def take_people(self, folder: int) -> None:
        """Take the entries in each user's folder."""
        for name in sorted(os.listdir(folder)):
            try:
                own = os.open(name, _OPEN_FOLDER, dir_fd=folder)
            except OSError:
                self._pass(name, None, "unreadable")
                continue
            try:
                status = os.fstat(own)
                if others_write(status):
                    self._pass(name, status.st_uid, "writable")
                else:
                    self.take_all(own, status.st_uid)
            finally:
                os.close(own)

    def take_all(self, folder: int, owner: int | None) -> None:
        """Take the entries in a directory; all must belong to `owner` unless that is None."""
        strays: list[str] = []
        entries: list[str] = []
        for name in sorted(os.listdir(folder), reverse=True):
            if name.startswith("."):
                continue  # being written, or left by a writer that was killed
            (strays if uid_in(name) is None else entries).append(name)
        looked = [*_newest(entries, MOST_NAMES), *_sample(strays)]
        if len(looked) < len(entries) + len(strays):
            self._tell_crowd(folder, entries + strays, len(looked), owner)
        for name in looked:
            self._take(folder, name, owner)

    def _tell_crowd(self, folder: int, names: list[str], looked: int, owner: int | None) -> None:
        """Tell that a folder holds more than is looked at, and whose most of it is."""
        owners: Counter[int] = Counter()
        for name in _sample(names):
            try:
                owners[os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid] += 1
            except OSError:
                continue
        uid, most = owners.most_common(1)[0] if owners else (owner, 0)
        self.passed.insert(0, PassedOver("*", uid, "crowded", len(names) - looked, most, owners.total()))

    def _take(self, folder: int, name: str, owner: int | None) -> None:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                self._pass(name, status.st_uid, "link" if stat.S_ISLNK(status.st_mode) else "special")
                return
            descriptor = os.open(name, _READ, dir_fd=folder)
        except FileNotFoundError:
            if name in os.listdir(folder):  # else its owner has just taken it away
                self._pass(name, None, "unreadable")
            return
        except OSError:
            self._pass(name, None, "unreadable")
            return
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)  # of what was really opened
            uid = status.st_uid
            why = self._refused(status, owner)
            if why:
                self._pass(name, uid, why)
                return
            try:
                raw = stream.read(LARGEST + 1)
                entry = decode(raw if len(raw) <= LARGEST else b"", name, self._place.board)
                if entry.uid != uid:
                    raise BadEntry("foreign")
            except BadEntry as error:
                self._pass(name, uid, str(error))
                return
            except OSError:
                self._pass(name, uid, "unreadable")
                return
        future = entry.time > status.st_ctime + SKEW
        self.found.append(Owned(replace(entry, time=status.st_ctime) if future else entry, uid, future))

    def _refused(self, status: os.stat_result, owner: int | None) -> str:
        """Return why a file is not read at all; empty when it may be."""
        uid = status.st_uid
        if not stat.S_ISREG(status.st_mode):
            return "special"
        if owner is not None and uid != owner:
            return "foreign"
        if others_write(status):
            return "writable"
        if status.st_size > LARGEST:
            return "large"
        self._entries[uid] = self._entries.get(uid, 0) + 1
        self._bytes[uid] = self._bytes.get(uid, 0) + status.st_size
        return "many" if self._entries[uid] > MOST_ENTRIES or self._bytes[uid] > MOST_BYTES else ""

    def _pass(self, name: str, uid: int | None, why: str) -> None:
        self.passed.append(PassedOver(clean_line(name), uid, why))
