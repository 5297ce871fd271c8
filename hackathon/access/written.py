"""Folders that the toolkit writes into or runs programs from: no other account may add files to them.

`ownership` checks files that are read. This module checks a folder before it is written: whoever can create entries in
it can add a program that the user will run, or a link to one of the user's files where the toolkit is about to write.
"""

import os
import stat
from pathlib import Path

from hackathon.access.ownership import ForeignFile, Trusted, foreign_folder
from hackathon.access.permissions import WRITE, others
from hackathon.text.paths import OTHERS_WRITE

_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LOG = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderOfOthersError(OSError):
    """A folder that others own, can write or can replace; `foreign` says who."""

    def __init__(self, foreign: ForeignFile) -> None:
        super().__init__(f"{foreign.path} is not the user's")
        self.foreign = foreign


def writable_folder(folder: Path, trusted: Trusted) -> Path:
    """Return the absolute path of a folder after creating it, or after checking that it is the user's.

    `trusted`: whose folders and whose write access are accepted. Missing folders get the umask's mode, each created in
    the descriptor of its parent. Raises FolderOfOthersError, and OSError if the folder cannot be created.
    """
    folder = folder.absolute()
    missing: list[str] = []
    existing = folder
    while not os.path.lexists(existing):
        missing.append(existing.name)
        existing = existing.parent
    if not missing:
        _refuse(folder, trusted)
        return folder
    # whoever can rename entries of the folder above could replace the new folder
    _refuse(existing, trusted, own_entries=True)
    descriptor = os.open(existing, _ON_THE_WAY)
    try:
        for name in reversed(missing):
            descriptor = _subfolder(descriptor, name, trusted)
    finally:
        os.close(descriptor)
    _refuse(folder, trusted)
    return folder


def _subfolder(parent: int, name: str, trusted: Trusted) -> int:
    """Return a descriptor of a folder that is created in another, whose descriptor is closed only on success."""
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        # created meanwhile: by another command of the user's, or by another account, which a later check detects
        new = False
    else:
        new = True
    descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    os.close(parent)
    state = os.fstat(descriptor)
    if new and state.st_uid == os.geteuid() and trusted.strangers(others(descriptor, state, WRITE)):
        # a umask that lets a group write is meant for groups that the user trusts, not for this one
        os.fchmod(descriptor, stat.S_IMODE(state.st_mode) & ~OTHERS_WRITE)
    return descriptor


def open_log(path: Path) -> int:
    """Return a descriptor of the user's log, truncated for writing; never through a link or in another's file.

    Raises OSError.
    """
    descriptor = os.open(path, _LOG, 0o644)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1 or state.st_uid != os.geteuid():
            raise PermissionError(f"{path} is no file of this account alone")
        os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse(folder: Path, trusted: Trusted, *, own_entries: bool = False) -> None:
    foreign = foreign_folder(folder, trusted, own_entries=own_entries)
    if foreign is not None:
        raise FolderOfOthersError(foreign)
