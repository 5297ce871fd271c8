"""Who owns a file, and who else could write or replace it.

A file that steers a command counts if it belongs to the user or root and no other account can write it, or replace it
in its folder. This is computed from the opened descriptors, not from names that may lead elsewhere a moment later. Not
considered: NFSv4 access lists (the mode's bits are an upper bound of most), and servers that map accounts.
"""

import os
import stat
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hackathon.access.permissions import WRITE, Others, is_private_group, others, others_replace, others_write
from hackathon.text.light_dataclass import dataclass

ROOT = 0
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_IDENTITY = ["0", "0", "4294967295"]
"""The one line of /proc/self/uid_map outside of user namespaces (user_namespaces(7))."""


@dataclass(frozen=True)
class Trusted:
    """Accounts and groups whose files and whose write access are accepted; root's always are."""

    users: frozenset[int]
    groups: frozenset[int] = frozenset()
    everybody: bool = False
    """Also files that everybody can write, because the user accepted them for this folder."""

    def __or__(self, other: "Trusted") -> "Trusted":
        """Return the union of both."""
        return Trusted(self.users | other.users, self.groups | other.groups, self.everybody or other.everybody)

    def strangers(self, writers: Others) -> Others:
        """Return the writers of a file that are not accepted."""
        users = self.users | {ROOT}
        groups = frozenset(gid for gid in writers.groups - self.groups if not is_private_group(gid, users))
        return Others(writers.everybody and not self.everybody, groups, writers.users - users, writers.owners - users)


class Look(NamedTuple):
    """A checked file: its first bytes, its owner, and who could have written it."""

    path: Path
    raw: bytes | None
    """None if this account cannot read it."""
    owner: int
    folder: os.stat_result
    writers: Others


class ForeignFile(NamedTuple):
    """A file that others own or can write, and these accounts."""

    path: Path
    owner: int
    strangers: Others


def own() -> Trusted:
    """Return the accounts that are always trusted: the user and root."""
    user = os.geteuid()
    # in a user namespace that does not map the account, all files seem to be the user's, so only root counts
    return Trusted(frozenset() if user == _overflow() and _mapped() else frozenset({user}))


def look(path: Path, most: int = (1 << 20) + 1) -> Look:
    """Return a checked file, with at most `most` bytes. Raises OSError: it is missing, or not a regular file.

    A link counts with its own owner and folder, and with those of its target.
    """
    folder = os.open(path.parent, _FOLDER)
    try:
        entry = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        state = os.fstat(folder)
        writers = _replacers(state, os.path.realpath(path.parent))
        if stat.S_ISLNK(entry.st_mode):
            real = os.path.realpath(path)
            above = os.stat(os.path.dirname(real))  # noqa: PTH116, PTH120 — of what a link says, as text
            writers |= _replacers(above, os.path.dirname(real)) | _owned(entry)  # noqa: PTH120
        raw: bytes | None = None
        try:
            descriptor = os.open(path.name, _FILE, dir_fd=folder)
        except PermissionError:
            # another account's unreadable file is reported too
            status = os.stat(path.name, dir_fd=folder)
            writers |= others(Path(os.path.realpath(path)), status, WRITE)
        else:
            try:
                status = os.fstat(descriptor)
                writers |= others(descriptor, status, WRITE)
                raw = os.read(descriptor, most) if stat.S_ISREG(status.st_mode) else None
            finally:
                os.close(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no regular file")
        writers |= _owned(status)
        if status.st_nlink > 1 and others_write(state) and not others_replace(state):
            # in a sticky folder anybody may link a file of root's or the user's under another name (link(2))
            writers |= Others(everybody=True)
        return Look(path, raw, status.st_uid, state, _reaching(writers, os.path.realpath(path.parent)))
    finally:
        os.close(folder)


def foreign(path: Path, trusted: Trusted) -> ForeignFile | None:
    """Return why a file does not count; None if it counts or does not exist."""
    try:
        file = look(path, 0)
    except OSError:
        return None
    strangers = trusted.strangers(file.writers)
    return ForeignFile(path, file.owner, strangers) if strangers else None


def foreign_folder(folder: Path, trusted: Trusted, *, own_entries: bool) -> ForeignFile | None:
    """Return why the user must not write in a folder; None if the folder is acceptable.

    It must belong to the user or to an account that the user trusts, and no other account may write in it or replace
    it. If strangers cannot write in the folder above, the owner of a trusted group's folder may be any account, because
    only members can give it to the group. `own_entries`: only new entries are created in it, so any account's sticky
    folder is acceptable. A link counts with its own owner and folder, and with its target. Raises OSError if the folder
    does not exist.
    """
    real = Path(os.path.realpath(folder))
    state = real.stat()
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(f"{folder} is no folder")
    if own_entries:
        writers = _replacers(state, str(real), owner=False)
    else:
        writers = others(real, state, WRITE) | _replacers_above(real)
        if state.st_gid not in trusted.groups or trusted.strangers(others(real.parent, real.parent.stat(), WRITE)):
            writers |= _owned(state)
    if folder.is_symlink():
        writers |= _owned(folder.lstat()) | _replacers_above(folder)
    strangers = trusted.strangers(_reaching(writers, str(real.parent)))
    return ForeignFile(folder, state.st_uid, strangers) if strangers else None


def foreign_below(folder: Path, names: Iterable[str], trusted: Trusted) -> ForeignFile | None:
    """Return the first file in folders below a folder that does not count; None if all count.

    `names` are relative to the folder; each name follows those of the folders above it.
    """
    for name in names:
        path = folder / name
        try:
            state = path.lstat()
            entries = sorted(os.listdir(path))  # noqa: PTH208
        except OSError:
            continue
        writers = _owned(state)
        if stat.S_ISLNK(state.st_mode):
            state = path.stat()
        strangers = trusted.strangers(_reaching(writers | _replacers(state, str(path)), str(folder)))
        if strangers:
            return ForeignFile(path, state.st_uid, strangers)
        for entry in entries:
            inner = None if entry.startswith(".") else _foreign_entry(path / entry, trusted)
            if inner is not None:
                return inner
    return None


def _foreign_entry(path: Path, trusted: Trusted) -> ForeignFile | None:
    """Return why a file, or a folder without its content, does not count."""
    try:
        state = path.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(state.st_mode):
        return foreign(path, trusted)
    writers = _owned(path.lstat()) | _replacers(state, str(path))
    strangers = trusted.strangers(_reaching(writers, str(path.parent)))
    return ForeignFile(path, state.st_uid, strangers) if strangers else None


def _owned(state: os.stat_result) -> Others:
    return Others(owners=frozenset({state.st_uid}))


def _replacers(state: os.stat_result, path: str, *, owner: bool = True) -> Others:
    """Return who can replace a file in a folder: the folder's owner, and its writers unless it is sticky."""
    writers = _owned(state) if owner else Others()
    return writers | others(Path(os.path.realpath(path)), state, WRITE) if others_replace(state) else writers


def _replacers_above(entry: Path) -> Others:
    """Return who can replace an entry of a folder, except the folder's owner, who created it for its users."""
    return _replacers(entry.parent.stat(), str(entry.parent), owner=False)


def _reaching(writers: Others, folder: str) -> Others:
    """Return the writers without those that cannot pass a closed folder above, such as a home with mode 0700."""
    if not (writers.users or writers.groups or writers.everybody):
        return writers
    for parent in (Path(folder), *Path(folder).parents):
        try:
            state = parent.stat()
        except OSError:
            continue
        if state.st_uid in (ROOT, os.geteuid()) and not state.st_mode & 0o011:
            return Others(owners=writers.owners)
    return writers


@cache
def _overflow() -> int:
    """Return the id that the kernel shows for accounts that a user namespace does not map."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 65534


@cache
def _mapped() -> bool:
    """Return whether this process is in a user namespace that does not map every account."""
    try:
        return Path("/proc/self/uid_map").read_text().split() != _IDENTITY
    except OSError:
        return False
