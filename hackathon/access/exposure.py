"""Who besides its owner can change or read a file or folder: everybody, members of a group, accounts of a list.

Computed like `permissions`, from modes and access lists. Changing a folder includes replacing it, which needs write
access to a folder above without a sticky bit. Root and the owners of folders above are not reported.
"""

import os
import stat
from pathlib import Path

from hackathon.access.permissions import ANYBODY, ENTER, READ, WRITE, Others, allowed, is_private_group, others


def can_change(path: Path) -> Others:
    """Return who can change or replace a file or folder. Raises OSError if it does not exist."""
    return _who(path, WRITE)


def can_read(path: Path) -> Others:
    """Return who can read a file or list a folder. Raises OSError if it does not exist."""
    return _who(path, READ)


def _who(path: Path, bits: int) -> Others:
    real = path.resolve(strict=True)
    way = [(part, part.stat()) for part in (*reversed(real.parents), real)]
    owner = way[-1][1].st_uid
    named = Others()
    for parent, status in way:
        if status.st_uid != owner or not status.st_mode & stat.S_IRWXG:
            continue  # root or an organiser is responsible for folders that they create for a group
        named |= others(parent, status, 0)
    groups = {gid for gid in named.groups if gid != 0 and not is_private_group(gid, {owner})}
    everybody = _place(way, ANYBODY, frozenset(), bits, {owner, 0})
    if everybody is not None:
        return Others(everybody=True, place=everybody)
    by_group = {gid: part for gid in groups if (part := _place(way, ANYBODY, frozenset({gid}), bits, {owner, 0}))}
    by_user = {uid: part for uid in named.users if (part := _place(way, uid, frozenset(), bits, {owner, 0}))}
    parts = [*by_group.values(), *by_user.values()]
    return Others(False, frozenset(by_group), frozenset(by_user), place=parts[0] if parts else None)


def _place(
    way: list[tuple[Path, os.stat_result]], uid: int, gids: frozenset[int], access: int, owners: set[int]
) -> Path | None:
    """Return the component that gives an account the access; None if none does."""
    last = len(way) - 1
    for position, (part, status) in enumerate(way):
        folder = stat.S_ISDIR(status.st_mode)
        bits = access | ENTER if folder else access
        # in a sticky folder only the owner of an entry can replace it
        open_above = access == WRITE and not status.st_mode & stat.S_ISVTX
        if (position == last or (open_above and status.st_uid in owners)) and allowed(part, status, uid, gids, bits):
            return part
        if folder and not allowed(part, status, uid, gids, ENTER):
            return None
    return None
