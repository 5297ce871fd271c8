"""Whether another account may read a path, as the kernel would decide it: owner, groups, POSIX ACL.

Computed from what any account may look at, since nobody but root can become another to try. Not seen: NFSv4 ACLs
(whose mode bits are an upper bound), servers that map accounts, and containers.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from hackathon.access import acl as lists

READ, WRITE, ENTER = 4, 2, 1
"""Bits of permission: to read a file or list a directory, to write, and to go through a directory."""
MOST_LINKS = 40
"""Symbolic links on the way that the kernel follows (path_resolution(7))."""


@dataclass(frozen=True)
class Account:
    """A user of this machine and the groups it is in."""

    user: str
    uid: int
    groups: frozenset[int]


def account(user: str) -> Account | None:
    """Return an account and all its groups, None when this machine knows no such account."""
    try:
        found = pwd.getpwnam(user)
    except (KeyError, ValueError):
        return None
    return Account(user, found.pw_uid, frozenset(os.getgrouplist(user, found.pw_gid)))


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
    return [group_name(each) for each in sorted(groups)]


def readable(path: Path, uid: int, gids: Collection[int], also: int = 0) -> Path | None:
    """Return the first component of a path that a user with these groups cannot pass or read, None when it can.

    Every directory on the way, also on the way of symbolic links, must let the user through (x); the last component
    must be readable, and a directory both readable and passable; `also` are further bits that it must give (WRITE).
    Raises OSError when something is missing, or is hidden from the account that asks though the user's way is open up
    to there.
    """
    for place, found, last in _way(path):
        wanted = READ | ENTER | also if last and stat.S_ISDIR(found.st_mode) else READ | also if last else ENTER
        if not allowed(place, found, uid, gids, wanted):
            return place
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
            for entry in sorted(entries, key=lambda each: each.name):
                left -= 1
                if entry.is_symlink():
                    continue
                folder = entry.is_dir(follow_symlinks=False)
                wanted = READ | ENTER if folder else READ
                if not allowed(Path(entry.path), entry.stat(follow_symlinks=False), uid, gids, wanted):
                    return Path(entry.path)
                if folder:
                    waiting.append(entry.path)
    return None


def allowed(place: Path, found: os.stat_result, uid: int, gids: Collection[int], wanted: int) -> bool:
    """Return whether a user with these groups has the wanted bits on one file or directory, after acl(5)."""
    mode = found.st_mode
    if uid == 0:  # capabilities(7), CAP_DAC_OVERRIDE: everything but executing files without any x
        return True
    if uid == found.st_uid:
        return _has(mode >> 6, wanted)
    # Linux does not look at the ACL when its mask (the group bits) is empty: fs/namei.c, acl_permission_check
    acl = lists.read_list(place) if mode & stat.S_IRWXG else None
    if acl is None:
        return _has(mode >> 3 if found.st_gid in gids else mode, wanted)
    mask = acl.get((lists.MASK, None), 7)
    if (lists.USER, uid) in acl:
        return _has(acl[lists.USER, uid] & mask, wanted)
    groups = [
        bits & mask
        for (tag, who), bits in acl.items()
        if (tag == lists.GROUP_OBJ and found.st_gid in gids) or (tag == lists.GROUP and who in gids)
    ]
    if groups:  # one of the entries must grant everything; what others has does not count then
        return any(_has(bits, wanted) for bits in groups)
    return _has(acl.get((lists.OTHER, None), mode), wanted)


def _has(bits: int, wanted: int) -> bool:
    return bits & wanted == wanted


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Yield the components that the kernel goes through, `/` first, as (path, stat, whether it is the last one)."""
    root = Path("/")
    place = root
    waiting = list(reversed(path.absolute().parts[1:]))
    yield root, root.lstat(), not waiting
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            place = place.parent
            if not waiting:
                yield place, place.lstat(), True
            continue
        following = place / part
        found = following.lstat()
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = following.readlink()
            if target.is_absolute():
                place = root
            waiting += [each for each in reversed(target.parts) if each != target.anchor]
            if not waiting:
                yield place, place.lstat(), True
            continue
        place = following
        yield place, found, not waiting
