"""Who may read, write or enter a file or folder, as the kernel would decide it: owner, groups, POSIX ACL.

Computed from what any account may look at, since nobody but root can become another to try. Not seen: NFSv4 ACLs
(whose mode bits are an upper bound), servers that map accounts, and containers.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hackathon.access import acl as lists
from hackathon.text.paths import OTHERS_WRITE

READ, WRITE, ENTER = 4, 2, 1
"""Bits of permission: to read a file or list a directory, to write, and to go through a directory."""
ANYBODY = 2**32 - 3
"""An account that no machine has: what it may do, everybody may."""
MOST_LINKS = 40
"""Symbolic links on the way that the kernel follows (path_resolution(7))."""


class Account(NamedTuple):
    """A user of this machine and the groups it is in."""

    user: str
    uid: int
    groups: frozenset[int]


@dataclass(frozen=True)
class Others:
    """Accounts that may do something with a file or folder."""

    everybody: bool = False
    groups: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    """Accounts that an access list names."""
    owners: frozenset[int] = frozenset()
    """Accounts that own the file, its folder, or a link on the way from the one to the other."""
    place: Path | None = field(default=None, compare=False)
    """The file or folder whose mode lets them, where that is looked for."""

    def __bool__(self) -> bool:
        return self != Others()

    def __or__(self, other: "Others") -> "Others":
        """Return those of two files together."""
        everybody, groups = self.everybody or other.everybody, self.groups | other.groups
        return Others(everybody, groups, self.users | other.users, self.owners | other.owners)


def others(path: Path | int, status: os.stat_result, bits: int) -> Others:
    """Return who beside its owner and root has the wanted bits (0: who is named) on a file or folder that is no link.

    Where its access list cannot be read, the mode counts, whose group bits are what a list gives at most.
    """
    try:
        acl = _list_of(path, status)
    except OSError:
        acl = None
    groups = {status.st_gid, *(number for tag, number in acl or () if tag == lists.GROUP and number is not None)}
    users = {number for tag, number in acl or () if tag == lists.USER and number is not None} - {status.st_uid, 0}
    return Others(
        _granted(acl, status, ANYBODY, (), bits),
        frozenset(gid for gid in groups if _granted(acl, status, ANYBODY, (gid,), bits)),
        frozenset(uid for uid in users if _granted(acl, status, uid, (), bits)),
    )


def others_write(status: os.stat_result) -> bool:
    """Return whether a mode lets others than the owner write; no access list gives more than the mode shows."""
    return bool(status.st_mode & OTHERS_WRITE)


def open_to_others(status: os.stat_result) -> bool:
    """Return whether a mode lets others than the owner do anything at all."""
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def others_replace(status: os.stat_result) -> bool:
    """Return whether a folder's mode lets others put something else in the place of what lies in it."""
    return others_write(status) and not status.st_mode & stat.S_ISVTX


def is_private_group(gid: int, users: Collection[int]) -> bool:
    """Return whether a group is that of one of the users alone, as many systems make one for each account."""
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return gid in users  # a container's account without a name
    names = {user_name(uid) for uid in users}
    name = user_name(gid) if group.gr_name == str(gid) and gid in users else group.gr_name
    try:
        return names.issuperset([name, *group.gr_mem]) and pwd.getpwnam(name).pw_gid == gid
    except KeyError:
        return False


def account(user: str) -> Account | None:
    """Return an account and all its groups, None when this machine knows no such account."""
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):
        return None
    return Account(user, entry.pw_uid, frozenset(os.getgrouplist(user, entry.pw_gid)))


def user_name(uid: int) -> str:
    """Return a user's name, the number when the machine knows none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return a group's name, the number when the machine knows none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def group_names(groups: Collection[int]) -> list[str]:
    """Return the names of groups, the number where a group has none."""
    return [group_name(gid) for gid in sorted(groups)]


def readable(path: Path, uid: int, gids: Collection[int], also: int = 0) -> Path | None:
    """Return the first component of a path that a user with these groups cannot pass or read, None when it can.

    Every directory on the way, also on the way of symbolic links, must let the user through (x); the last component
    must be readable, and a directory both readable and passable; `also` are further bits that it must give (WRITE).
    Raises OSError when something is missing, or is hidden from the account that asks though the user's way is open up
    to there.
    """
    for component, status, last in _way(path):
        bits = READ | ENTER | also if last and stat.S_ISDIR(status.st_mode) else READ | also if last else ENTER
        if not allowed(component, status, uid, gids, bits):
            return component
    return None


def first_closed(top: Path, uid: int, gids: Collection[int], most: int = 10_000) -> Path | None:
    """Return the first closed component on the way to or within a folder of at most `most` entries, None when open.

    Links within the folder are not followed. Raises OSError as `readable` does.
    """
    closed = readable(top, uid, gids)
    if closed is not None or not top.is_dir():
        return closed
    left, waiting = most, [str(top.resolve())]
    while waiting and left > 0:
        with os.scandir(waiting.pop()) as entries:
            for entry in sorted(entries, key=lambda file: file.name):
                left -= 1
                if entry.is_symlink():
                    continue
                folder = entry.is_dir(follow_symlinks=False)
                bits = READ | ENTER if folder else READ
                if not allowed(Path(entry.path), entry.stat(follow_symlinks=False), uid, gids, bits):
                    return Path(entry.path)
                if folder:
                    waiting.append(entry.path)
    return None


def allowed(path: Path | int, status: os.stat_result, uid: int, gids: Collection[int], bits: int) -> bool:
    """Return whether a user with these groups has the wanted bits on one file or directory, after acl(5)."""
    return _granted(None if uid in (0, status.st_uid) else _list_of(path, status), status, uid, gids, bits)


def _list_of(path: Path | int, status: os.stat_result) -> lists.Acl | None:
    # Linux does not look at the ACL when its mask (the group bits) is empty: fs/namei.c, acl_permission_check
    return lists.read_list(path) if status.st_mode & stat.S_IRWXG else None


def _granted(acl: lists.Acl | None, status: os.stat_result, uid: int, gids: Collection[int], needed: int) -> bool:
    mode = status.st_mode
    if uid == 0:  # capabilities(7), CAP_DAC_OVERRIDE: everything but executing files without any x
        return True
    if uid == status.st_uid:
        return _has(mode >> 6, needed)
    if acl is None:
        return _has(mode >> 3 if status.st_gid in gids else mode, needed)
    mask = acl.get((lists.MASK, None), 7)
    if (lists.USER, uid) in acl:
        return _has(acl[lists.USER, uid] & mask, needed)
    groups = [
        bits & mask
        for (tag, gid), bits in acl.items()
        if (tag == lists.GROUP_OBJ and status.st_gid in gids) or (tag == lists.GROUP and gid in gids)
    ]
    if groups:  # one of the entries must grant everything; what others has does not count then
        return any(_has(bits, needed) for bits in groups)
    return _has(acl.get((lists.OTHER, None), mode), needed)


def _has(bits: int, needed: int) -> bool:
    return bits & needed == needed


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Yield the components that the kernel goes through, `/` first, as (path, stat, whether it is the last one)."""
    root = Path("/")
    folder = root
    waiting = list(reversed(path.absolute().parts[1:]))
    yield root, root.lstat(), not waiting
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            folder = folder.parent
            if not waiting:
                yield folder, folder.lstat(), True
            continue
        following = folder / part
        status = following.lstat()
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = following.readlink()
            if target.is_absolute():
                folder = root
            waiting += [component for component in reversed(target.parts) if component != target.anchor]
            if not waiting:
                yield folder, folder.lstat(), True
            continue
        folder = following
        yield folder, status, not waiting
