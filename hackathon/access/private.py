"""Folders and files that only the user can access: sockets, caches, secrets, the jobs of the local scheduler.

In /tmp anybody can create a folder or a link with a name that another user is about to use. So a private folder is a
directory and not a link, belongs to the user, and gives the group and others no permission.
"""

import os
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2.bccache import BytecodeCache

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


_KEPT = 400
"""The most compiled templates in a folder."""


def private_cache(folder: Path, version: str) -> "BytecodeCache | None":
    """Return a cache for compiled Jinja templates in a folder of the user's; None if the folder is not private.

    `version`: the compiler's; code of another version is not loaded.
    """
    import hashlib
    import io

    from jinja2 import Environment
    from jinja2 import __version__ as jinja2_version
    from jinja2.bccache import Bucket, BytecodeCache

    from hackathon.text.files import write_whole

    try:
        private_folder(folder, parents=True)
    except (OSError, RuntimeError):
        return None

    class PrivateCache(BytecodeCache):
        """Compiled templates by their source.

        They are code that runs, so only the user's own files that others cannot read or write are loaded. This is
        checked on the opened descriptor, so it does not matter who can rename folders above.
        """

        def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:
            """Return the bucket of a template, with its code if this very text was compiled before."""
            parts = (
                version.encode(),
                jinja2_version.encode(),
                name.encode(),
                (filename or "").encode(),
                source.encode(),
            )
            digest = hashlib.sha256()
            for part in parts:
                digest.update(b"%d:%s" % (len(part), part))
            key = digest.hexdigest()
            bucket = Bucket(environment, key, key)
            self.load_bytecode(bucket)
            return bucket

        def load_bytecode(self, bucket: Bucket) -> None:
            """Load the code of a template, if it exists and no other account can have written it."""
            try:
                stream, _ = open_private(folder / bucket.key)
            except OSError:
                return
            with stream:
                raw = stream.read()
            # a torn or foreign file is like a missing one; its content decides which exception is raised
            with suppress(Exception):
                bucket.load_bytecode(io.BytesIO(raw))

        def dump_bytecode(self, bucket: Bucket) -> None:
            """Store the code of a template; a full or read-only disk is not an error."""
            with suppress(OSError):
                write_whole(folder / bucket.key, bucket.bytecode_to_string(), 0o600)
                self._tidy()

        def _tidy(self) -> None:
            with os.scandir(folder) as entries:
                files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
            if len(files) > _KEPT:
                for entry in sorted(files, key=lambda file: file.stat(follow_symlinks=False).st_mtime)[
                    : len(files) // 2
                ]:
                    Path(entry.path).unlink(missing_ok=True)

    return PrivateCache()
