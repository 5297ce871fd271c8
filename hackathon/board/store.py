"""Write and read the files of a board: complete, without a lock, each attributed to its owner.

A file is written under a hidden name and linked to the final one, which fails if the name exists: safe on NFS and
Lustre with many writers. Files are read through descriptors that follow no link and wait for no FIFO, so that the file
that was checked is the file that is read. Files that are not well-formed entries of their owner are skipped and
reported.
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
from hackathon.text.messages import N_, _

_OVER_TEXTS = {
    "garbage": N_("not a valid post"),
    "newer": N_("written by a newer version"),
    "other_name": N_("copy or link of a file with another name"),
    "other_board": N_("written for another board"),
    "link": N_("a symbolic link"),
    "special": N_("not a regular file"),
    "large": N_("larger than 1 MB"),
    "crowded": N_("too many files: {count} not examined; {most} of {asked} sampled belong to this user"),
    "many": N_("too many files of this user"),
    "writable": N_("other users can change it"),
    "unreadable": N_("cannot be read"),
    "foreign": N_("named after another user"),
    "no_such_post": N_("reply to a post that does not exist"),
    "not_allowed": N_("only the author or a tutor may do this"),
}

SKEW = 300.0
"""Seconds by which the clocks of hosts and of the file server may differ."""
MOST_ENTRIES, MOST_BYTES = 2000, 20_000_000
"""Limits for one user; entries beyond them are skipped, so that no user can make the board unreadable."""
MOST_NAMES = 20_000
"""Files of one folder that are read; of more, the newest by their names, taking the users in turn."""
MOST_STRAYS = 500
"""Files of one folder with other names that are read, to report the reason and the owner."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Owned:
    """An entry and the user who owns its file."""

    entry: Entry
    uid: int
    future: bool = False
    """Whether it claims a time after the file system's; its time was corrected."""


@dataclass(frozen=True)
class PassedOver:
    """A skipped file of the board, which is not what it claims to be."""

    name: str
    uid: int | None
    why: str
    """The reason.

    garbage, newer, other_name, other_board, link, special, large, many, writable, unreadable, foreign, no_such_post,
    not_allowed, crowded.
    """
    count: int = 1
    """Number of files; for a crowded folder, of those that were not read."""
    most: int = 0
    """For a crowded folder: files of `uid`, who has the most, among the `asked` ones whose owner was read."""
    asked: int = 0

    @property
    def reason(self) -> str:
        """Why, in the current language."""
        values = {"count": self.count, "most": self.most, "asked": self.asked} if self.why == "crowded" else {}
        return _(_OVER_TEXTS[self.why], **values)


def write_entry(directory: BoardDirectory, entry: Entry) -> Owned:
    """Write a new entry of the current user and return it with its new id.

    Raises RequestError if the board lets others alter its files or has no folder for this user, HackathonError if the
    file cannot be written.
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
        raise HackathonError(
            "board.can_not_write",
            "cannot write to {path}: {what}",
            path=directory.folder,
            what=error.strerror or str(error),
        ) from error


@contextmanager
def _own_folder(directory: BoardDirectory) -> Iterator[int]:
    """Yield a descriptor of the directory for the current user's entries."""
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
            raise RequestError(
                "board.no_folder",
                "user {user} has no folder of their own: {path}",
                hint="it must belong to {user}; root creates it with `hackathon board init --mode folders`",
                path=directory.folder / user,
                user=user,
            ) from error
        try:
            if os.fstat(own).st_uid != os.geteuid():
                raise RequestError(
                    "board.no_folder",
                    "user {user} has no folder of their own: {path}",
                    hint="it must belong to {user}; root creates it with `hackathon board init --mode folders`",
                    path=directory.folder / user,
                    user=user,
                )
            yield own
        finally:
            os.close(own)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, _OPEN_FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_entries(directory: BoardDirectory) -> tuple[list[Owned], list[PassedOver]]:
    """Return all entries, oldest first, and the skipped files.

    Raises HackathonError if the directory cannot be read, or is not the one that the board's keepers created.
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
        raise HackathonError(
            "board.can_not_read",
            "{path} cannot be read: {what}",
            path=directory.folder,
            what=error.strerror or str(error),
        ) from error
    reader.found.sort(key=lambda owned: (owned.entry.time, owned.entry.id))
    return reader.found, reader.passed


def _newest(names: list[str], most: int) -> list[str]:
    """Return `most` of the names of entries, which are sorted newest first: the newest of each user in turn."""
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
    """Return at most MOST_STRAYS of the names, spread over the list."""
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
        """Read the entries in each user's folder."""
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
        """Read the entries in a directory; all must belong to `owner` unless that is None."""
        strays: list[str] = []
        entries: list[str] = []
        for name in sorted(os.listdir(folder), reverse=True):
            if name.startswith("."):
                continue  # in progress, or left behind by a killed writer
            (strays if uid_in(name) is None else entries).append(name)
        looked = [*_newest(entries, MOST_NAMES), *_sample(strays)]
        if len(looked) < len(entries) + len(strays):
            self._tell_crowd(folder, entries + strays, len(looked), owner)
        for name in looked:
            self._take(folder, name, owner)

    def _tell_crowd(self, folder: int, names: list[str], looked: int, owner: int | None) -> None:
        """Report that a folder contains more files than are read, and who owns most of them."""
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
            if name in os.listdir(folder):  # otherwise its owner has just deleted it
                self._pass(name, None, "unreadable")
            return
        except OSError:
            self._pass(name, None, "unreadable")
            return
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)  # of the opened file, not of its name
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
        """Return why a file is not read; empty if it may be read."""
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
