"""Folders that the toolkit writes into or runs from: nobody else may put something into them.

What is read is looked at file by file (`ownership`). A folder that is written is looked at before it is used: whoever
can make entries in it can put a program there that the user will run, or a link to one of the user's files where the
toolkit is about to write.
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
    """Return the absolute path of a folder after making it where it is missing, or seeing that it is the user's.

    `trusted`: whose folders and whose write access count. What is missing is made by the umask, one folder in the
    descriptor of the one above. Raises FolderOfOthersError, and OSError when it cannot be made.
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
    # whoever can rename what lies in the folder above could put another one in the new one's place
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
    """Return a descriptor of a folder that is made in another, which is closed only then.

    A umask that lets a group write is meant for groups that the user trusts: the folder is closed to any other.
    """
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        new = False  # made meanwhile: by the user's other command, or by somebody else, which is seen later
    else:
        new = True
    descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    os.close(parent)
    state = os.fstat(descriptor)
    if new and state.st_uid == os.geteuid() and trusted.strangers(others(descriptor, state, WRITE)):
        os.fchmod(descriptor, stat.S_IMODE(state.st_mode) & ~OTHERS_WRITE)
    return descriptor


def open_log(path: Path) -> int:
    """Return a descriptor for writing an emptied file of the user's, never through a link or into another's file.

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
