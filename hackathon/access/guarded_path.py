"""Paths beneath a directory of somebody else that open themselves by the rules of `guarded_folder`."""

import io
import os
import stat
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath
from typing import IO, Any, cast

from hackathon.access.beneath import RefusedFileError
from hackathon.access.guarded_folder import GuardedFolder


class GuardedPath(PosixPath):
    """A directory of somebody else, or something beneath it: what is read through it is opened by a GuardedFolder.

    Reading (`open`, `read_text`, `stat`, `is_file`, `iterdir`, `glob` …) obeys the rules; what only the owner of the
    directory does (writing, `mkdir`, `rename` …) is as on any Path. Paths made of it with `/` are guarded, too; its
    text, and what `parent` leads out of the directory to, is not. So whoever reads takes the path, not a string of it.
    """

    __slots__ = ("folder",)
    folder: GuardedFolder

    def __init__(self, *parts: "str | os.PathLike[str]", folder: GuardedFolder) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(*parts)
        self.folder = folder

    def __reduce__(self) -> Any:
        """Keep the folder: another process guards what it was given, too."""
        return _of, (str(self), self.folder)

    def with_segments(self, *parts: "str | os.PathLike[str]") -> "GuardedPath":
        """Return another path of the same directory."""
        return GuardedPath(*parts, folder=self.folder)

    def __truediv__(self, key: "str | os.PathLike[str]") -> "GuardedPath":
        """Return a path beneath this one."""
        child = super().__truediv__(key)
        child.folder = self.folder
        return child

    def joinpath(self, *parts: "str | os.PathLike[str]") -> "GuardedPath":
        """Return a path beneath this one."""
        return self.with_segments(self, *parts)

    @property
    def parent(self) -> Path:  # type: ignore[override]
        """The folder that holds it; a plain Path above the guarded directory."""
        above = Path(str(self)).parent
        return self.with_segments(above) if self.inner else above

    def with_name(self, name: str) -> "GuardedPath":
        """Return the path of a neighbour."""
        return self.with_segments(Path(str(self)).with_name(name))

    def with_suffix(self, suffix: str) -> "GuardedPath":
        """Return the path with another suffix."""
        return self.with_segments(Path(str(self)).with_suffix(suffix))

    def absolute(self) -> "GuardedPath":
        """Return it as it is, if need be behind the current folder."""
        return self if self.is_absolute() else self.with_segments(Path.cwd() / str(self))

    def relative_to(self, *other: Any, **options: Any) -> Path:  # type: ignore[override]
        """Return what it is called beneath another one: a plain Path, only good as a name."""
        return Path(str(self)).relative_to(*other, **options)

    @property
    def parents(self) -> tuple[Path, ...]:  # type: ignore[override]
        """The folders that hold it, as plain Paths."""
        return tuple(Path(str(self)).parents)

    def resolve(self, strict: bool = False) -> Path:  # type: ignore[override]
        """Return the real path, a plain Path: it is good for comparing and not for reading."""
        return Path(str(self)).resolve(strict)

    def readlink(self) -> Path:  # type: ignore[override]
        """Return what a link says."""
        return Path(str(self)).readlink()

    def rename(self, target: "str | os.PathLike[str]") -> Path:  # type: ignore[override]
        """Rename it and return the new path, a plain Path."""
        return Path(str(self)).rename(target)

    def replace(self, target: "str | os.PathLike[str]") -> Path:  # type: ignore[override]
        """Rename it over what is there and return the new path, a plain Path."""
        return Path(str(self)).replace(target)

    @property
    def inner(self) -> str:
        """What it is called in the guarded directory; empty for that itself. Raises RefusedFileError outside of it."""
        path, root = str(self), self.folder.root
        path = path if path[:1] == "/" else str(Path.cwd() / path)
        if path == root:
            return ""
        if not path.startswith(f"{root}/"):
            raise RefusedFileError("outside", path)
        return path[len(root) + 1 :]

    def open_regular(self) -> io.BufferedReader:
        """Return the file opened for reading. Raises OSError, RefusedFileError for what is refused."""
        return self.folder.open(self.inner)

    def open(  # type: ignore[override]
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Open the file: for reading by the rules, for writing as any other path."""
        if set(mode) & set("wax+"):
            return Path(str(self)).open(mode, buffering, encoding, errors, newline)
        stream = self.open_regular()
        if "b" in mode:
            return cast(IO[Any], stream.detach()) if buffering == 0 else stream
        return io.TextIOWrapper(stream, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """Return the whole file. Raises OSError."""
        with self.open_regular() as stream:
            return stream.read()

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Return the whole file as text. Raises OSError, UnicodeDecodeError."""
        with self.open("r", encoding=encoding, errors=errors, newline=newline) as stream:
            text: str = stream.read()
            return text

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return its state; a link is not followed out of the directory. Raises OSError."""
        return self.folder.stat(self.inner, links=follow_symlinks)

    def lstat(self) -> os.stat_result:
        """Return its own state, be it a link. Raises OSError."""
        return self.stat(follow_symlinks=False)

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether something is there, and not a link out of the directory."""
        return self._mode(follow_symlinks) is not None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self._mode(follow_symlinks) or 0)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a folder."""
        return stat.S_ISDIR(self._mode(follow_symlinks) or 0)

    def is_symlink(self) -> bool:
        """Return whether it is a link."""
        return stat.S_ISLNK(self._mode(links=False) or 0)

    def _mode(self, links: bool) -> int | None:
        try:
            return self.stat(follow_symlinks=links).st_mode
        except (OSError, ValueError):
            return None

    def names(self) -> list[str]:
        """Return the names in the folder, sorted; none when it cannot be read."""
        return self.folder.names(self.inner)

    def iterdir(self) -> Iterator["GuardedPath"]:  # type: ignore[override]
        """Yield what lies in the folder. Raises OSError when it is none or cannot be read."""
        if not self.is_dir():
            self.stat()  # raises, if it is not there
            raise NotADirectoryError(str(self))
        return iter([self / name for name in self.names()])

    def glob(self, pattern: str, **options: Any) -> Iterator["GuardedPath"]:  # type: ignore[override]
        """Yield what fits a pattern: names and `*` divided by `/`; `**` and options of pathlib are not known here."""
        if options or "**" in pattern:
            raise NotImplementedError(pattern)
        paths: list[GuardedPath] = [self]
        for part in pattern.split("/"):
            if not set(part) & set("*?["):
                paths = [path / part for path in paths if (path / part).exists()]
            else:
                paths = [path / name for path in paths for name in path.names() if fnmatchcase(name, part)]
        return iter(paths)

    def rglob(self, pattern: str, **options: Any) -> Iterator["GuardedPath"]:  # type: ignore[override]
        """Yield what lies below and has a name that fits a pattern of one part."""
        if options or "/" in pattern:
            raise NotImplementedError(pattern)
        top = self.with_segments(self.folder.root)
        names = [name for name, _ in self.folder.walk(self.inner)]
        return iter([top / name for name in names if fnmatchcase(name.rsplit("/", 1)[-1], pattern)])


def _of(path: str, folder: GuardedFolder) -> GuardedPath:
    return GuardedPath(path, folder=folder)
