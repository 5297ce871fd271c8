"""Folders and files that only the user can access: sockets, caches, secrets, the jobs of the local scheduler.

In /tmp anybody can create a folder or a link with a name that another user is about to use. So a private folder is a
directory and not a link, belongs to the user, and gives the group and others no permission.
"""

import os
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

TEMPORARY = Path("/tmp")
"""Parent of a user's folder on a machine without $XDG_RUNTIME_DIR."""


class NotPrivateError(OSError):
    """An existing file or folder that is not private.

    `foreign`: whether it is another account's or of another kind; `mode`: its permissions.
    """

    def __init__(self, path: Path, state: os.stat_result, kind: int) -> None:
        self.foreign = stat.S_IFMT(state.st_mode) != kind or state.st_uid != os.geteuid()
        self.mode = f"{stat.S_IMODE(state.st_mode):04o}"
        super().__init__(f"{path} is not private")


def private_folder(folder: Path, *, parents: bool = False) -> Path:
    """Return a folder after creating it (0700), or after checking that it is the user's and closed to others.

    `parents`: also create the folders above it. Raises NotPrivateError, and OSError if it cannot be created.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=parents)
    _check(folder, folder.lstat(), stat.S_IFDIR)
    return folder


def node_folder(room: int | None = None) -> Path:
    """Return the folder for the user's files on this node: `$XDG_RUNTIME_DIR/hackathon`, else `/tmp/hackathon-<uid>`.

    The former only if the user can write there and its name has at most `room` bytes. Nothing is created or checked.
    """
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(base) / "hackathon"
    fits = room is None or len(os.fsencode(folder)) <= room
    if base.startswith("/") and fits and os.access(base, os.W_OK | os.X_OK):
        return folder
    return TEMPORARY / f"hackathon-{os.geteuid()}"


def open_private(path: Path) -> tuple[BufferedReader, float]:
    """Return the user's private file, opened, and the time when it was written (seconds since 1970).

    Raises NotPrivateError, and OSError if it is missing, is a link or cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        _check(path, status, stat.S_IFREG)
        return open(descriptor, "rb"), status.st_mtime  # noqa: PTH123 — a descriptor; the caller closes it
    except BaseException:
        os.close(descriptor)
        raise


def _check(path: Path, state: os.stat_result, kind: int) -> None:
    from hackathon.access.permissions import open_to_others

    if stat.S_IFMT(state.st_mode) != kind or state.st_uid != os.geteuid() or open_to_others(state):
        raise NotPrivateError(path, state, kind)
