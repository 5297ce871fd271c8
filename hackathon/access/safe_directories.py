"""Create directories step by step through descriptors, so that a link inserted meanwhile is not followed.

Root may create an event's directories while its organiser, or a team, renames directories above them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_GROUP = 65534
_ON_THE_WAY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
"""A directory that is passed through need not be readable."""


@contextmanager
def acting_as(owner: int) -> Iterator[None]:
    """Give root the rights of an account, and no others, in the block; for another user nothing changes.

    Files that an organiser's file names are checked, created and opened to others with the organiser's rights, even if
    they are replaced at the same moment. An account without an entry on this machine is in no group. Raises OSError.
    """
    if os.geteuid() != 0 or owner == 0:
        yield
        return
    import pwd

    groups, group = os.getgroups(), os.getegid()
    try:
        account = pwd.getpwuid(owner)
        own, all_own = account.pw_gid, os.getgrouplist(account.pw_name, account.pw_gid)
    except KeyError:
        own, all_own = _NO_GROUP, []
    try:
        os.setgroups(all_own)
        os.setegid(own)
        os.seteuid(owner)
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


@contextmanager
def parent_below(path: Path, base: Path, marker: str, owner: int) -> Iterator[int]:
    """Yield a descriptor of the parent directory of a path below an event's folder.

    Raises OSError if a component is missing, if a link lies on the way below the folder, or, for root, if another
    folder is there now than the owner's or the one with the owner's `marker` (a file's name).
    """
    descriptor = os.open(base, _ON_THE_WAY)
    try:
        owners = {os.fstat(descriptor).st_uid, os.stat(marker, dir_fd=descriptor, follow_symlinks=False).st_uid}
        if os.geteuid() == 0 and owner not in owners:
            raise PermissionError(f"{marker} belongs to somebody else")
        for name in path.relative_to(base).parts[:-1]:
            descriptor = _stepped(descriptor, name)
        yield descriptor
    finally:
        os.close(descriptor)


def make_way(folder: Path, mode: int, owner: int) -> None:
    """Create a directory and the missing ones above it, with a mode regardless of the umask.

    Root also sets their owner. Raises OSError.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder.name)
        folder = folder.parent
    descriptor = os.open(folder, _ON_THE_WAY)
    try:
        for name in reversed(missing):
            os.mkdir(name, dir_fd=descriptor)
            give(name, mode, owner if os.geteuid() == 0 and owner != 0 else None, folder=descriptor)
            descriptor = _stepped(descriptor, name)
    finally:
        os.close(descriptor)


def give(name: str | Path, mode: int, owner: int | None = None, *, folder: int | None = None) -> None:
    """Set the mode and the owner of a directory of the current account; None leaves the owner.

    Raises OSError if it is another account's, a link, or not a directory.
    """
    descriptor = os.open(name, OPEN_FOLDER, dir_fd=folder)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(f"{name} belongs to somebody else")
        if owner is not None:
            os.fchown(descriptor, owner, -1)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _stepped(descriptor: int, name: str) -> int:
    """Return a descriptor of a subdirectory and close the parent's only on success. Raises OSError for a link."""
    following = os.open(name, _ON_THE_WAY | os.O_NOFOLLOW, dir_fd=descriptor)
    os.close(descriptor)
    return following
