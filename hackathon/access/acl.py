"""Read access control lists of directories, and create those of team folders, in Linux's extended attributes.

This needs no external program. The rules are those of the POSIX.1e draft 17, section 23.1 (Linux: acl(5)).
"""

import errno
import os
import struct
from collections.abc import Sequence
from pathlib import Path

USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
ACCESS_LIST, DEFAULT_LIST = "system.posix_acl_access", "system.posix_acl_default"
_VERSION, _NOBODY = 2, 0xFFFFFFFF
_NO_LIST = frozenset({errno.ENODATA, errno.EOPNOTSUPP, errno.ENOSYS})
Acl = dict[tuple[int, int | None], int]
"""(tag, id of a named user or group) → permission bits."""


def group_id(name: str) -> int | None:
    """Return the id of a group; None if this machine has no group of that name."""
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        return None


def read_list(path: Path | int, name: str = ACCESS_LIST) -> Acl | None:
    """Return the access control list of a file, or of a link itself; None if it has none. Raises OSError."""
    if not hasattr(os, "getxattr"):
        return None
    try:
        raw = os.getxattr(path, name) if isinstance(path, int) else os.getxattr(path, name, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LIST:
            return None
        raise
    return unpacked(raw)


def unpacked(raw: bytes) -> Acl | None:
    """Return the list in an extended attribute (linux/posix_acl_xattr.h); None for an unknown layout."""
    if len(raw) < 4 or (len(raw) - 4) % 8 or struct.unpack_from("<I", raw)[0] != _VERSION:
        return None
    entries = [struct.unpack_from("<HHI", raw, at) for at in range(4, len(raw), 8)]
    return {(tag, number if tag in (USER, GROUP) else None): bits & 7 for tag, bits, number in entries}


def packed(acl: Acl) -> bytes:
    """Return a list as the bytes of an extended attribute, with entries in the kernel's order."""
    ordered = sorted(acl.items(), key=lambda entry: (entry[0][0], -1 if entry[0][1] is None else entry[0][1]))
    lines = [struct.pack("<HHI", tag, bits, _NOBODY if number is None else number) for (tag, number), bits in ordered]
    return struct.pack("<I", _VERSION) + b"".join(lines)


def group_list(mode: int, users: Sequence[tuple[int, int]], groups: Sequence[tuple[int, int]]) -> Acl:
    """Return a list with a mode (its last nine bits) and further users and groups, each as (id, permission bits).

    The mask allows everything that anybody but the owner has.
    """
    acl: Acl = {(USER_OBJ, None): mode >> 6 & 7, (GROUP_OBJ, None): mode >> 3 & 7, (OTHER, None): mode & 7}
    acl.update({(USER, number): bits for number, bits in users})
    acl.update({(GROUP, number): bits for number, bits in groups})
    mask = mode >> 3 & 7
    for (tag, _), bits in acl.items():
        if tag in (USER, GROUP):
            mask |= bits
    return {**acl, (MASK, None): mask}
