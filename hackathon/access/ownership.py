"""Whose a file is, and who else could write it or put another one in its place.

A file that steers a command counts when it belongs to the user or root and nobody else can write it, or replace it in
the folder in which it lies. Computed from the opened descriptors, not from names that may lead elsewhere a moment
later. Not seen: NFSv4 access lists (the mode's bits are an upper bound of most), and servers that map accounts.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hackathon.access import acl as lists
from hackathon.access.permissions import user_name

ROOT = 0
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_IDENTITY = ["0", "0", "4294967295"]
"""The one line of /proc/self/uid_map outside of user namespaces (user_namespaces(7))."""


@dataclass(frozen=True)
class Writers:
    """Who can write a file or put another one in its place."""

    owners: frozenset[int] = frozenset()
    """Accounts that own the file, its folder, or a link on the way from the one to the other."""
    users: frozenset[int] = frozenset()
    """Accounts that an access list names."""
    groups: frozenset[int] = frozenset()
    everybody: bool = False

    def __or__(self, other: "Writers") -> "Writers":
        """Return those of two files together."""
        return Writers(
            self.owners | other.owners,
            self.users | other.users,
            self.groups | other.groups,
            self.everybody or other.everybody,
        )


@dataclass(frozen=True)
class Trusted:
    """Accounts and groups whose files and whose write access are accepted; root's always are."""

    users: frozenset[int]
    groups: frozenset[int] = frozenset()
    everybody: bool = False
    """Also what everybody can write: the user said so of this folder."""

    def __or__(self, other: "Trusted") -> "Trusted":
        """Return both together."""
        return Trusted(self.users | other.users, self.groups | other.groups, self.everybody or other.everybody)

    def strangers(self, found: Writers) -> Writers:
        """Return those among the writers of a file that are not accepted."""
        users = self.users | {ROOT}
        groups = frozenset(each for each in found.groups - self.groups if not _private(each, users))
        return Writers(found.owners - users, found.users - users, groups, found.everybody and not self.everybody)


@dataclass(frozen=True)
class Look:
    """A file as it was found: its first bytes, who owns it, and who could have written it."""

    path: Path
    raw: bytes | None
    """None when this account cannot read it."""
    owner: int
    folder: os.stat_result
    writers: Writers


@dataclass(frozen=True)
class ForeignFile:
    """A file that others own or can write, and who they are."""

    path: Path
    owner: int
    strangers: Writers


def own() -> Trusted:
    """Return what needs no trust: the user's own files, and root's.

    In a user namespace without an account of one's own everybody's files look like one's own: then only root's count.
    """
    user = os.geteuid()
    return Trusted(frozenset() if user == _overflow() and _mapped() else frozenset({user}))


def look(path: Path, most: int = (1 << 20) + 1) -> Look:
    """Return a file as it is found, with at most `most` bytes. Raises OSError: it is not there, or no regular file.

    A link counts with its own owner and folder, and with those of the file that it leads to.
    """
    folder = os.open(path.parent, _FOLDER)
    try:
        entry = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        state = os.fstat(folder)
        writers = _replacers(state, os.path.realpath(path.parent))
        if stat.S_ISLNK(entry.st_mode):
            real = os.path.realpath(path)
            above = os.stat(os.path.dirname(real))  # noqa: PTH116, PTH120 — of what a link says, as text
            writers |= _replacers(above, os.path.dirname(real)) | Writers(frozenset({entry.st_uid}))  # noqa: PTH120
        raw: bytes | None = None
        try:
            descriptor = os.open(path.name, _FILE, dir_fd=folder)
        except PermissionError:
            # somebody's file that is closed to others is told about, too
            found = os.stat(path.name, dir_fd=folder)
        else:
            try:
                found = os.fstat(descriptor)
                raw = os.read(descriptor, most) if stat.S_ISREG(found.st_mode) else None
            finally:
                os.close(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is no regular file")
        writers |= _open_to(found, str(path)) | Writers(frozenset({found.st_uid}))
        if found.st_nlink > 1 and state.st_mode & stat.S_ISVTX and state.st_mode & 0o022:
            # in a sticky folder anybody may give a file of root's or the user's another name (link(2))
            writers |= Writers(everybody=True)
        return Look(path, raw, found.st_uid, state, _reaching(writers, os.path.realpath(path.parent)))
    finally:
        os.close(folder)


def foreign(path: Path, trusted: Trusted) -> ForeignFile | None:
    """Return why a file does not count, None when it does or when it is not there."""
    try:
        found = look(path, 0)
    except OSError:
        return None
    strangers = trusted.strangers(found.writers)
    return ForeignFile(path, found.owner, strangers) if strangers != Writers() else None


def foreign_below(folder: Path, names: Iterable[str], trusted: Trusted) -> ForeignFile | None:
    """Return the first file in folders below a folder that does not count, None when there is none.

    `names` are relative to the folder, each after those that it lies in.
    """
    for name in names:
        place = folder / name
        try:
            state = place.lstat()
            entries = sorted(os.listdir(place))  # noqa: PTH208
        except OSError:
            continue
        writers = Writers(frozenset({state.st_uid}))
        if stat.S_ISLNK(state.st_mode):
            state = place.stat()
        strangers = trusted.strangers(_reaching(writers | _replacers(state, str(place)), str(folder)))
        if strangers != Writers():
            return ForeignFile(place, state.st_uid, strangers)
        for entry in entries:
            inner = None if entry.startswith(".") else _foreign_entry(place / entry, trusted)
            if inner is not None:
                return inner
    return None


def _foreign_entry(path: Path, trusted: Trusted) -> ForeignFile | None:
    """Return why a file, or a folder by itself, does not count."""
    try:
        state = path.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(state.st_mode):
        return foreign(path, trusted)
    writers = Writers(frozenset({path.lstat().st_uid})) | _replacers(state, str(path))
    strangers = trusted.strangers(_reaching(writers, str(path.parent)))
    return ForeignFile(path, state.st_uid, strangers) if strangers != Writers() else None


def _replacers(state: os.stat_result, path: str) -> Writers:
    """Return who can put another file in a folder's place of one: its owner, and its writers unless it is sticky."""
    owner = Writers(frozenset({state.st_uid}))
    return owner if state.st_mode & stat.S_ISVTX else owner | _open_to(state, path)


def _open_to(state: os.stat_result, path: str) -> Writers:
    """Return who beyond its owner may write a file or folder, after acl(5)."""
    everybody = bool(state.st_mode & stat.S_IWOTH)
    if not state.st_mode & stat.S_IWGRP:  # these bits bound an access list, too
        return Writers(everybody=everybody)
    try:
        acl = lists.read_list(Path(os.path.realpath(path))) if hasattr(os, "getxattr") else None
    except OSError:
        acl = None
    if acl is None:
        return Writers(groups=frozenset({state.st_gid}), everybody=everybody)
    mask = acl.get((lists.MASK, None), 7)
    users, groups = set(), set()
    for (tag, who), bits in acl.items():
        if not bits & mask & 2:
            continue
        if tag == lists.USER and who is not None:
            users.add(who)
        elif tag == lists.GROUP_OBJ:
            groups.add(state.st_gid)
        elif tag == lists.GROUP and who is not None:
            groups.add(who)
    return Writers(frozenset(), frozenset(users), frozenset(groups), everybody)


def _reaching(found: Writers, folder: str) -> Writers:
    """Return the writers without those that a closed folder on the way keeps out, as a home of mode 0700 does."""
    if not (found.users or found.groups or found.everybody):
        return found
    for each in (Path(folder), *Path(folder).parents):
        try:
            state = each.stat()
        except OSError:
            continue
        if state.st_uid in (ROOT, os.geteuid()) and not state.st_mode & 0o011:
            return Writers(found.owners)
    return found


def _private(gid: int, users: frozenset[int]) -> bool:
    """Return whether a group is that of one of the users alone, as many systems make one for each account."""
    names = {user_name(each) for each in users}
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return gid in users  # a container's account without a name
    if not names.issuperset(group.gr_mem):
        return False
    try:
        return group.gr_name in names and pwd.getpwnam(group.gr_name).pw_gid == gid
    except KeyError:
        return False


def _overflow() -> int:
    """Return the number that the kernel shows for accounts that a user namespace does not map."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 65534


def _mapped() -> bool:
    """Return whether this process is in a user namespace that does not map every account."""
    try:
        return Path("/proc/self/uid_map").read_text().split() != _IDENTITY
    except OSError:
        return False
