"""Who may read, write or enter a file or folder, by the kernel's rules: owner, groups, POSIX ACL.

This is computed from information that any account can read, because only root can become another account to try. Not
considered: NFSv4 ACLs (whose mode bits are an upper bound), servers that map accounts, and containers.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from hackathon.access import acl as lists
from hackathon.text.light_dataclass import dataclass
from hackathon.text.paths import OTHERS_WRITE

READ, WRITE, ENTER = 4, 2, 1
"""Permission bits: read a file or list a directory; write; pass through a directory."""
ANYBODY = 2**32 - 3
"""An id that no account has, so its permissions are those of everybody."""
MOST_LINKS = 40
"""The most symbolic links that the kernel follows in one path (path_resolution(7))."""


class Account(NamedTuple):
    """A user of this machine and the groups it is in."""

    user: str
    uid: int
    groups: frozenset[int]


@dataclass(frozen=True)
class Others:
    """Accounts that have a permission on a file or folder."""

    everybody: bool = False
    groups: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    """Accounts that an access list names."""
    owners: frozenset[int] = frozenset()
    """Accounts that own the file, its folder, or a link between the two."""
    place: Path | None = field(default=None, compare=False)
    """The file or folder whose mode gives the permission, if it was searched for."""

    def __bool__(self) -> bool:
        return self != Others()

    def __or__(self, other: "Others") -> "Others":
        """Return the union of both."""
        everybody, groups = self.everybody or other.everybody, self.groups | other.groups
        return Others(everybody, groups, self.users | other.users, self.owners | other.owners)


def others(path: Path | int, status: os.stat_result, bits: int) -> Others:
    """Return who besides owner and root has the permission bits (0: is named) on a file or folder, not a link.

    If its access list cannot be read, the mode counts, whose group bits are the maximum of the list.
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
    """Return whether a mode lets accounts other than the owner write; no access list gives more than the mode shows."""
    return bool(status.st_mode & OTHERS_WRITE)


def open_to_others(status: os.stat_result) -> bool:
    """Return whether a mode gives accounts other than the owner any permission."""
    return bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def others_replace(status: os.stat_result) -> bool:
    """Return whether a folder's mode lets others replace its entries."""
    return others_write(status) and not status.st_mode & stat.S_ISVTX


def is_private_group(gid: int, users: Collection[int]) -> bool:
    """Return whether a group has only one of the users as its member, as on systems with a group for each account."""
    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return gid in users  # an account without a name, in a container
    names = {user_name(uid) for uid in users}
    name = user_name(gid) if group.gr_name == str(gid) and gid in users else group.gr_name
    try:
        return names.issuperset([name, *group.gr_mem]) and pwd.getpwnam(name).pw_gid == gid
    except KeyError:
        return False


def account(user: str) -> Account | None:
    """Return an account and all its groups; None if this machine does not have it."""
    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):
        return None
    return Account(user, entry.pw_uid, frozenset(os.getgrouplist(user, entry.pw_gid)))


def user_name(uid: int) -> str:
    """Return a user's name, or the number if the machine has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Return a group's name, or the number if the machine has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def group_names(groups: Collection[int]) -> list[str]:
    """Return the names of groups, or the number of a group without a name."""
    return [group_name(gid) for gid in sorted(groups)]


def readable(path: Path, uid: int, gids: Collection[int], also: int = 0) -> Path | None:
    """Return the first component of a path that a user with these groups cannot pass or read; None if there is none.

    Every directory on the way, including the way of symbolic links, must let the user pass (x); the last component must
    be readable, and a directory both readable and passable; `also` are further required bits (WRITE). Raises OSError if
    a component is missing, or is hidden from the current account although the user's way is open up to there.
    """
    for component, status, last in _way(path):
        bits = READ | ENTER | also if last and stat.S_ISDIR(status.st_mode) else READ | also if last else ENTER
        if not allowed(component, status, uid, gids, bits):
            return component
    return None


def first_closed(top: Path, uid: int, gids: Collection[int], most: int = 10_000) -> Path | None:
    """Return the first closed component on the way to or within a folder of at most `most` entries.

    None if all are open. Links within the folder are not followed. Raises OSError as `readable` does.
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
    """Return whether a user with these groups has the permission bits on one file or directory, by acl(5)."""
    return _granted(None if uid in (0, status.st_uid) else _list_of(path, status), status, uid, gids, bits)


def _list_of(path: Path | int, status: os.stat_result) -> lists.Acl | None:
    # Linux ignores the ACL if its mask (the group bits) is empty: fs/namei.c, acl_permission_check
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
    if groups:  # one entry must grant all bits; the permissions of others do not count then
        return any(_has(bits, needed) for bits in groups)
    return _has(acl.get((lists.OTHER, None), mode), needed)


def _has(bits: int, needed: int) -> bool:
    return bits & needed == needed


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Yield the components that the kernel resolves, `/` first, as (path, stat, whether it is the last one)."""
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
