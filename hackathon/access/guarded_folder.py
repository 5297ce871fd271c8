"""Read files beneath another account's directory as `beneath` opens them, with limits, and without raising errors."""

import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.access.beneath import FILE, LISTED, Beneath, RefusedFileError
from hackathon.text.files import listed, objects

GROWTH = 1 << 12
"""Bytes by which a file may grow between the check of its size and the read."""
MOST = 16 << 20
"""The most bytes that are read of one file, unless the caller sets a lower limit."""
ENTRIES = 20_000
"""Names of one folder that are read."""
DEEPEST = 32
"""The depth of nested folders that `files` enters."""


class Refusal(NamedTuple):
    """A file beneath a directory that is not read, and the reason."""

    name: str
    reason: str
    """As in RefusedFileError."""


class FolderEntry(NamedTuple):
    name: str
    kind: str
    """file, folder, link or other."""
    state: os.stat_result | None
    """The state of a regular file that still exists."""


class GuardedFolder(Beneath):
    """A directory whose files may be another account's; a refused file is treated like a missing one.

    `open` distinguishes the two, and `refused` lists the refused files.
    """

    def open(self, name: str) -> BufferedReader:
        """Return a file beneath the folder, opened for reading. Raises OSError, RefusedFileError for a refused file.

        `name` is relative, with `/` between its parts.
        """
        descriptor = self.opened(name, FILE)
        try:
            return open(descriptor, "rb")  # noqa: PTH123 — a descriptor, not a path; the caller closes it
        except BaseException:
            os.close(descriptor)
            raise

    def read(self, name: str, limit: int = MOST) -> bytes | None:
        """Return the first `limit` bytes of a file; None if it is missing, refused or unreadable."""
        part = self._part(name, 0, limit)
        return part[0] if part else None

    def end(self, name: str, limit: int) -> tuple[bytes, int] | None:
        """Return the last `limit` bytes of a file and its size; None as for `read`."""
        return self._part(name, -1, limit)

    def _part(self, name: str, whence: int, limit: int) -> tuple[bytes, int] | None:
        try:
            descriptor, state = self.looked_at(name, FILE)
        except OSError:
            return None
        try:
            size = state.st_size
            if whence:
                os.lseek(descriptor, max(0, size - limit), os.SEEK_SET)
            # allocating much more than the file's size would cost more than reading thousands of small files
            return _read(descriptor, min(limit, size + GROWTH)), size
        except OSError as error:
            self._note(error, name)
            return None
        finally:
            os.close(descriptor)

    def text(self, name: str, limit: int = MOST) -> str:
        """Return the start of a file as text, decoded without errors; empty if `read` returns None."""
        return (self.read(name, limit) or b"").decode("utf-8", "replace")

    def json(self, name: str, limit: int = MOST, errors: str = "replace") -> dict[str, Any]:
        """Return the object in a JSON file; empty if there is none, or if the file is longer than `limit`.

        `errors`: handling of bytes that are not UTF-8; surrogateescape keeps those of file names.
        """
        value = self.value(name, limit, errors)
        return value if isinstance(value, dict) else {}

    def value(self, name: str, limit: int = MOST, errors: str = "replace") -> Any | None:
        """Return the value in a JSON file, like `json`; None if there is none."""
        try:
            return json.loads((self.read(name, limit) or b"").decode("utf-8", errors))
        except (ValueError, RecursionError):
            return None

    def lines(self, name: str, limit: int = MOST) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON-lines file without malformed lines.

        If the file is longer than `limit`, its end is read.
        """
        end = self.end(name, limit)
        if end:
            yield from objects(end[0].split(b"\n"))

    def stat(self, name: str, *, links: bool = True) -> os.stat_result:
        """Return the state of a file of any kind; for a link that stays beneath, of its target.

        With `links` False: of the link itself. Raises OSError as `open` does for links.
        """
        beneath, last, folder = self.holder(name, links=links)
        try:
            # the owner is not checked, because a state reveals no content
            return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise beneath.named(error, name) from None
        finally:
            os.close(folder)

    def is_file(self, name: str) -> bool:
        """Return whether a name leads to a regular file, even if its owner makes it refused."""
        try:
            return stat.S_ISREG(self.stat(name).st_mode)
        except OSError:
            return False

    def is_folder(self, name: str) -> bool:
        """Return whether a name leads to a folder."""
        try:
            return stat.S_ISDIR(self.stat(name).st_mode)
        except OSError:
            return False

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder below, sorted, including folders; empty if it cannot be read."""
        return sorted(self.kinds(folder))

    def kinds(self, folder: str = "") -> dict[str, str]:
        """Return name → kind (file, folder, link, other) of the entries of a folder below; {} if it cannot be read.

        At most ENTRIES of them. If the file system returns kinds with names, no file is examined.
        """
        try:
            descriptor = self.opened(folder, LISTED)
        except OSError:
            return {}
        try:
            with os.scandir(descriptor) as entries:
                return {entry.name: _kind(entry) for entry in islice(entries, ENTRIES)}
        except OSError as error:
            self._note(error, folder)
            return {}
        finally:
            os.close(descriptor)

    def entries(self, folder: str = "", most: int | None = ENTRIES) -> list[FolderEntry]:
        """Return the entries of a folder below, sorted by name; at most `most`, or with None all.

        Raises OSError if the folder cannot be listed.
        """
        descriptor = self.opened(folder, LISTED)
        try:
            with os.scandir(descriptor) as scanned:
                listing = [FolderEntry(entry.name, kind := _kind(entry), _state(entry, kind))
                           for entry in islice(scanned, most)]  # fmt: skip
        finally:
            os.close(descriptor)
        return sorted(listing)

    def states(self, folder: str, most: int = ENTRIES) -> dict[str, os.stat_result | None]:
        """Return name → state of the regular files in a folder below, None after the first `most`.

        Links are left out.
        """
        try:
            descriptor = self.opened(folder, LISTED)
        except OSError:
            return {}
        states: dict[str, os.stat_result | None] = {}
        try:
            with os.scandir(descriptor) as entries:
                for entry in islice(entries, ENTRIES):
                    if _kind(entry) == "file":
                        states[entry.name] = entry.stat(follow_symlinks=False) if len(states) < most else None
        except OSError as error:
            self._note(error, folder)
        finally:
            os.close(descriptor)
        return states

    def files(self, folder: str = "", most: int = ENTRIES) -> list[str]:
        """Return the names of the regular files below a folder, and of links to such files; at most `most`."""
        names = (name for name, kind in self.walk(folder) if kind == "file" or (kind == "link" and self.is_file(name)))
        return list(islice(names, most))

    def walk(self, folder: str = "") -> Iterator[tuple[str, str]]:
        """Yield (name, kind) of all entries below a folder, sorted folder by folder, with the kinds of `kinds`.

        A link to a folder is not entered.
        """
        waiting = [folder.strip("/")]
        while waiting:
            subfolder = waiting.pop()
            inner = []
            for name, kind in sorted(self.kinds(subfolder).items()):
                full_name = f"{subfolder}/{name}" if subfolder else name
                yield full_name, kind
                if kind == "folder" and subfolder.count("/") < DEEPEST:
                    inner.append(full_name)
            waiting += reversed(inner)

    def facts(self, names: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
        """Return (name, size, time of the last change in ns) of files below, and of those in folders below.

        Equal results mean equal contents.
        """
        facts = []
        for name in names:
            entries = self.names(name)
            for entry in entries:
                facts += self._fact(f"{name}/{entry}")
            if not entries:
                facts += self._fact(name)
        return tuple(facts)

    def sizes(self, folders: Sequence[str], most: int = ENTRIES) -> list[int]:
        """Return the sizes in bytes of the files below folders, at most `most` for each."""
        names = (name for folder in folders for name in self.files(folder, most))
        return [size for name in names for _, size, _ in self._fact(name)]

    def _fact(self, name: str) -> list[tuple[str, int, int]]:
        try:
            state = self.stat(name)
        except OSError:
            return []
        return [(name, state.st_size, state.st_mtime_ns)]

    def unsure(self) -> list[str]:
        """Return names that could not be read so far and may exist, because a file server may fail temporarily.

        A missing name does not count, unless its folder, or one above it, lists it.
        """
        failed, self._failed = self._failed, {}
        names = {name for name, number in failed.items() if number != errno.ENOENT or self._listed(name)}
        names |= {name for name, number in self._failed.items() if number != errno.ENOENT}
        self._failed = failed
        return sorted(names)

    def _listed(self, name: str) -> bool:
        """Return whether a folder lists the first part of a name whose state cannot be read."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        for at, part in enumerate(parts):
            above = "/".join(parts[:at])
            if part not in self.kinds(above):
                return False
            if not self.is_folder("/".join(parts[: at + 1])):
                return True
        if parts:
            return True
        try:
            return listed(Path(self.root))
        except OSError:
            return True

    def refused(self, folders: Sequence[str]) -> list[Refusal]:
        """Return the refused files among these files and folders below, including direct entries of the folders."""
        refusals = []
        for folder in folders:
            reason = self._reason(folder)
            if reason:
                refusals.append(Refusal(folder, reason))
                continue
            for entry, kind in self.kinds(folder).items():
                name = f"{folder}/{entry}" if folder else entry
                reason = "" if kind == "folder" else self._reason(name)
                if reason:
                    refusals.append(Refusal(name, reason))
        return sorted(refusals)

    def _reason(self, name: str) -> str:
        """Return why a name is refused; empty if it can be read or does not exist."""
        try:
            os.close(self.opened(name, LISTED if self.is_folder(name) else FILE))
        except RefusedFileError as error:
            return error.reason
        except OSError:
            pass
        return ""


def _kind(entry: "os.DirEntry[str]") -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"


def _state(entry: "os.DirEntry[str]", kind: str) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False) if kind == "file" else None
    except OSError:
        return None


def _read(descriptor: int, size: int) -> bytes:
    """Return the available bytes, at most `size`; one read may return fewer."""
    content = os.read(descriptor, size)
    while content and len(content) < size and (more := os.read(descriptor, size - len(content))):
        content += more
    return content
