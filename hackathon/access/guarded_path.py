"""Paths beneath another account's directory that open by the rules of `guarded_folder`."""

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
    """Another account's directory, or a path beneath it: reads go through a GuardedFolder.

    Reads (`open`, `read_text`, `stat`, `is_file`, `iterdir`, `glob` …) follow the rules; operations of the directory's
    owner (writing, `mkdir`, `rename` …) work as on any Path. Paths that are derived with `/` are guarded too; its text,
    and a `parent` outside the directory, are not. So readers pass the path, not a string.
    """

    __slots__ = ("folder",)
    folder: GuardedFolder

    def __init__(self, *parts: "str | os.PathLike[str]", folder: GuardedFolder) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(*parts)
        self.folder = folder

    def __reduce__(self) -> Any:
        """Keep the folder, so that the path stays guarded in another process."""
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
        """Return the path of a sibling."""
        return self.with_segments(Path(str(self)).with_name(name))

    def with_suffix(self, suffix: str) -> "GuardedPath":
        """Return the path with another suffix."""
        return self.with_segments(Path(str(self)).with_suffix(suffix))

    def absolute(self) -> "GuardedPath":
        """Return the path itself, or a relative one below the current folder."""
        return self if self.is_absolute() else self.with_segments(Path.cwd() / str(self))

    def relative_to(self, *other: Any, **options: Any) -> Path:  # type: ignore[override]
        """Return the path relative to another one: a plain Path, to be used only as a name."""
        return Path(str(self)).relative_to(*other, **options)

    @property
    def parents(self) -> tuple[Path, ...]:  # type: ignore[override]
        """The folders above it, as plain Paths."""
        return tuple(Path(str(self)).parents)

    def resolve(self, strict: bool = False) -> Path:  # type: ignore[override]
        """Return the real path as a plain Path, for comparing but not for reading."""
        return Path(str(self)).resolve(strict)

    def readlink(self) -> Path:  # type: ignore[override]
        """Return the target of a link."""
        return Path(str(self)).readlink()

    def rename(self, target: "str | os.PathLike[str]") -> Path:  # type: ignore[override]
        """Rename the file and return the new path, a plain Path."""
        return Path(str(self)).rename(target)

    def replace(self, target: "str | os.PathLike[str]") -> Path:  # type: ignore[override]
        """Rename the file, replacing an existing one, and return the new path, a plain Path."""
        return Path(str(self)).replace(target)

    @property
    def inner(self) -> str:
        """Its name in the guarded directory; empty for the directory. Raises RefusedFileError for a path outside it."""
        path, root = str(self), self.folder.root
        path = path if path[:1] == "/" else str(Path.cwd() / path)
        if path == root:
            return ""
        if not path.startswith(f"{root}/"):
            raise RefusedFileError("outside", path)
        return path[len(root) + 1 :]

    def open_regular(self) -> io.BufferedReader:
        """Return the file opened for reading. Raises OSError, RefusedFileError for a refused file."""
        return self.folder.open(self.inner)

    def open(  # type: ignore[override]
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Open the file: for reading by the rules, for writing like any other path."""
        if set(mode) & set("wax+"):
            return Path(str(self)).open(mode, buffering, encoding, errors, newline)
        stream = self.open_regular()
        if "b" in mode:
            return cast(IO[Any], stream.detach()) if buffering == 0 else stream
        return io.TextIOWrapper(stream, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """Return the complete content of the file. Raises OSError."""
        with self.open_regular() as stream:
            return stream.read()

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Return the complete text of the file. Raises OSError, UnicodeDecodeError."""
        with self.open("r", encoding=encoding, errors=errors, newline=newline) as stream:
            text: str = stream.read()
            return text

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the state; a link is not followed out of the directory. Raises OSError."""
        return self.folder.stat(self.inner, links=follow_symlinks)

    def lstat(self) -> os.stat_result:
        """Return the state of the path itself, which may be a link. Raises OSError."""
        return self.stat(follow_symlinks=False)

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether the path exists and is not a link out of the directory."""
        return self._mode(follow_symlinks) is not None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether the path is a regular file."""
        return stat.S_ISREG(self._mode(follow_symlinks) or 0)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether the path is a folder."""
        return stat.S_ISDIR(self._mode(follow_symlinks) or 0)

    def is_symlink(self) -> bool:
        """Return whether the path is a link."""
        return stat.S_ISLNK(self._mode(links=False) or 0)

    def _mode(self, links: bool) -> int | None:
        try:
            return self.stat(follow_symlinks=links).st_mode
        except (OSError, ValueError):
            return None

    def names(self) -> list[str]:
        """Return the names in the folder, sorted; empty if it cannot be read."""
        return self.folder.names(self.inner)

    def iterdir(self) -> Iterator["GuardedPath"]:  # type: ignore[override]
        """Yield the entries of the folder. Raises OSError if the path is not a folder or cannot be read."""
        if not self.is_dir():
            self.stat()  # raises OSError if the folder does not exist
            raise NotADirectoryError(str(self))
        return iter([self / name for name in self.names()])

    def glob(self, pattern: str, **options: Any) -> Iterator["GuardedPath"]:  # type: ignore[override]
        """Yield the paths that match a pattern of names and `*` between `/`.

        `**` and pathlib's options are not supported.
        """
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
        """Yield the paths below whose name matches a pattern of one part."""
        if options or "/" in pattern:
            raise NotImplementedError(pattern)
        top = self.with_segments(self.folder.root)
        names = [name for name, _ in self.folder.walk(self.inner)]
        return iter([top / name for name in names if fnmatchcase(name.rsplit("/", 1)[-1], pattern)])


def _of(path: str, folder: GuardedFolder) -> GuardedPath:
    return GuardedPath(path, folder=folder)
