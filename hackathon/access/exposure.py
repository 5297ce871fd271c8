"""Who beside its owner can change a file or folder, or read it: everybody, members of a group, accounts of a list.

Computed as in `permissions`, from modes and access lists. Changing a folder is also putting another in its place, which
needs write access to a folder above without a sticky bit. Root is not told about, nor is the owner of a folder above.
"""

import grp
import os
import pwd
import stat
from dataclasses import dataclass, field
from pathlib import Path

from hackathon.access.acl import GROUP, USER, read_list
from hackathon.access.permissions import ENTER, READ, WRITE, allowed

ANYBODY = 2**32 - 3
"""An account that no machine has: what it may do, everybody may."""


@dataclass(frozen=True)
class Others:
    """Accounts beside the owner."""

    everybody: bool = False
    groups: frozenset[int] = field(default_factory=frozenset)
    users: frozenset[int] = field(default_factory=frozenset)
    place: Path | None = None
    """The file or folder whose mode lets them."""

    def __bool__(self) -> bool:
        return self.everybody or bool(self.groups) or bool(self.users)


def can_change(path: Path) -> Others:
    """Return who can change a file or folder, or put another in its place. Raises OSError when it is not there."""
    return _who(path, WRITE)


def can_read(path: Path) -> Others:
    """Return who can read a file or list a folder. Raises OSError when it is not there."""
    return _who(path, READ)


def is_private_group(gid: int, user: int) -> bool:
    """Return whether a group has no member but a user, as far as the machine tells."""
    try:
        group, account = grp.getgrgid(gid), pwd.getpwuid(user)
    except KeyError:
        return gid == user  # the group of the user's own that goes with an account, by number
    alone = set(group.gr_mem) <= {account.pw_name}
    return alone and (account.pw_gid == gid and group.gr_name in (account.pw_name, str(gid)))


def _who(path: Path, wanted: int) -> Others:
    real = path.resolve(strict=True)
    way = [(each, each.stat()) for each in (*reversed(real.parents), real)]
    owner = way[-1][1].st_uid
    groups, users = set(), set()
    for each, found in way:
        if found.st_uid != owner or not found.st_mode & stat.S_IRWXG:
            continue  # what root or an organiser has made for a group is theirs to know
        acl = read_list(each) or {}
        groups |= {found.st_gid, *(who for tag, who in acl if tag == GROUP and who is not None)}
        users |= {who for tag, who in acl if tag == USER and who is not None}
    groups = {gid for gid in groups if gid != 0 and not is_private_group(gid, owner)}
    everybody = _place(way, ANYBODY, frozenset(), wanted, {owner, 0})
    if everybody is not None:
        return Others(everybody=True, place=everybody)
    by_group = {gid: place for gid in groups if (place := _place(way, ANYBODY, frozenset({gid}), wanted, {owner, 0}))}
    by_user = {uid: place for uid in users - {owner, 0} if (place := _place(way, uid, frozenset(), wanted, {owner, 0}))}
    places = [*by_group.values(), *by_user.values()]
    return Others(False, frozenset(by_group), frozenset(by_user), places[0] if places else None)


def _place(
    way: list[tuple[Path, os.stat_result]], uid: int, gids: frozenset[int], wanted: int, owners: set[int]
) -> Path | None:
    """Return the component that gives an account what is wanted, None when none does."""
    last = len(way) - 1
    for position, (place, found) in enumerate(way):
        folder = stat.S_ISDIR(found.st_mode)
        bits = wanted | ENTER if folder else wanted
        # in a sticky folder only the owner of an entry can replace it
        open_above = wanted == WRITE and not found.st_mode & stat.S_ISVTX
        if (position == last or (open_above and found.st_uid in owners)) and allowed(place, found, uid, gids, bits):
            return place
        if folder and not allowed(place, found, uid, gids, ENTER):
            return None
    return None
