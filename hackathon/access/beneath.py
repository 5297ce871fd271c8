"""Open what lies beneath a directory of somebody else: no link leads out, nothing blocks, the descriptor is checked.

Whoever writes in a run's directory can put anything there: a link to a file that only the reader may read, a pipe that
nobody writes to, another name of somebody's file. A check of the name says nothing about what is opened a moment later.
So every file is opened part by part from the descriptor of the directory, with O_NOFOLLOW, and what was opened is
looked at. That is RESOLVE_BENEATH of openat2(2), which Python does not offer and macOS does not have.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Self

from hackathon.access.permissions import others_write
from hackathon.text.messages import message

LINKS = 8
"""Links in one name that are resolved, as far as they stay beneath the directory."""
HELD = 32
"""Folders below a held one that are kept open at most."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_IS_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""What systems say of a link where O_NOFOLLOW was asked for."""
UNSURE = frozenset({errno.ENOENT, errno.ESTALE, errno.EIO, errno.ETIMEDOUT, errno.EAGAIN})
"""Errors that a file server gives for a moment for what is there; of a missing name its folder tells more."""
FAILED = 1000
_NUMBERS = {"link": errno.ELOOP, "kind": errno.EINVAL, "owner": errno.EACCES, "outside": errno.EACCES}


class RefusedFileError(OSError):
    """A file that is there and is not opened; `reason` is link, kind, owner or outside, `strerror` says it in words.

    It is an OSError, so that whoever passes over files that cannot be read passes over these, too.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(_NUMBERS[reason], message(f"access.{reason}"), path)
        self.reason = reason

    def __reduce__(self) -> "tuple[type[RefusedFileError], tuple[str, str]]":
        """Keep what it was made of: a process hands it to another one."""
        return RefusedFileError, (self.reason, str(self.filename))


class Beneath:
    """A directory whose content is read as somebody else's.

    A file is opened when it is a regular one of the directory's owner (where the directory's name is a link that
    somebody else made, of whoever made that); one of root only where no other account can
    write in the directories on the way. `owners` are those who have to own the files instead, root only if it is
    among them; `any_owner` drops that check: for a folder that several people share. A link that stays beneath the
    directory is resolved here, not by the system; with `links` False every link is refused. `recorded` returns the
    one folder outside to which the toolkit itself made links (a job's own folder, of an adopted run), None for
    none: those links are not followed either, but what they say is compared with the record, and the file is opened
    beneath the recorded folder by the same rules.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        owners: frozenset[int] | None = None,
        any_owner: bool = False,
        links: bool = True,
        recorded: Callable[[], str | None] | None = None,
    ) -> None:
        text = str(folder)
        self.root = (text if text[:1] == "/" else f"{os.getcwd()}/{text}").rstrip("/")  # noqa: PTH109
        self._owners = owners
        self._links = links
        self._any_owner = any_owner
        self._recorded = recorded
        self._held: _Held | None = None
        self._failed: dict[str, int] = {}
        """Name → number of the error with which it could not be read, of the first FAILED."""

    @contextmanager
    def held(self) -> Iterator[Self]:
        """Give the same folder with each of its directories opened and looked at once for what is read in the block.

        Raises OSError when it cannot be opened.
        """
        opened = copy(self)
        descriptor, maker = self._top()
        try:
            opened._held = _Held(descriptor, *self._trust(os.fstat(descriptor), maker))
            yield opened
        finally:
            if opened._held is not None:
                for inner, _ in opened._held.folders.values():
                    os.close(inner)
            opened._held = None
            os.close(descriptor)

    def _trust(self, state: os.stat_result, maker: int | None) -> tuple[frozenset[int], bool]:
        """Return whose files are read in a directory of this state, and whether only root and the reader write there.

        Where others name the directory, they could name one of root's. `maker`: of the link that it is behind.
        """
        if self._owners is None and maker is not None:
            return frozenset({maker}), False
        owners = frozenset({state.st_uid}) if self._owners is None else self._owners
        return owners, _is_closed(state) and (self._owners is None or 0 in self._owners)

    def _top(self) -> tuple[int, int | None]:
        """Return a descriptor of the directory, and who made the link that its name is; None: no link of others.

        Links further above are the reader's own affair and followed.
        """
        root = self.root or "/"
        try:
            return os.open(root, _FOLDER), None
        except OSError as error:
            if error.errno not in _IS_LINK:
                raise
        maker = maker_of(root)
        return os.open(root, _FOLDER & ~os.O_NOFOLLOW), maker

    def _walk(self) -> "_Walk":
        """Return the way that begins at the directory. Raises OSError."""
        try:
            return _Walk(self)
        except OSError as error:
            self._note(error, "")
            raise

    def opened(self, name: str, flags: int) -> int:
        """Return a descriptor of a file, or with the flags LISTED of a folder, that was found to be as it must be."""
        return self.looked_at(name, flags)[0]

    def looked_at(self, name: str, flags: int) -> tuple[int, os.stat_result]:
        """Return the same descriptor and the state in which the file or folder was found."""
        is_kind = stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG
        beneath, parts = self, _parts(name, self.root)
        for _ in range(LINKS):
            walk = beneath._walk()
            try:
                led = walk.into(parts[:-1]) or walk.down(parts[-1:] or ["."], flags)
                if led is None:
                    state = walk.check(is_kind, name)
                    return walk.taken(), state
            except OSError as error:
                raise beneath.named(error, name) from None
            finally:
                walk.close()
            beneath, parts = beneath._led_to(parts, *led)
        raise RefusedFileError("link", f"{self.root}/{name}")

    def holder(self, name: str, *, links: bool) -> "tuple[Beneath, str, int]":
        """Return (folder, last part, descriptor of the directory that holds it) of what a name stands for."""
        beneath, parts = self, _parts(name, self.root)
        for _ in range(LINKS):
            walk = beneath._walk()
            try:
                led = walk.into(parts[:-1])
                last = parts[-1] if parts else "."
                if led is None and links and (target := _target(last, walk.descriptor)) is not None:
                    led = len(parts) - 1, target
                if led is None:
                    return beneath, last, walk.taken()
            except OSError as error:
                raise beneath.named(error, name) from None
            finally:
                walk.close()
            beneath, parts = beneath._led_to(parts, *led)
        raise RefusedFileError("link", f"{self.root}/{name}")

    def _led_to(self, parts: list[str], number: int, target: str) -> "tuple[Beneath, list[str]]":
        """Return where the link that is part `number` of a name leads, and the name there. Nothing is followed.

        The parts before it were found to be directories, so that `..` in the link can be reckoned with as text.
        """
        remaining = parts[number + 1 :]
        if not self._links:
            raise RefusedFileError("link", f"{self.root}/{'/'.join(parts)}")
        if not target.startswith("/"):
            name = os.path.normpath("/".join([*parts[:number], target]))
            if name != ".." and not name.startswith("../"):
                return self, [*_parts(name, self.root), *remaining]
        else:
            for root in (self.root, os.path.realpath(self.root)):
                if (inner := _below(target, root)) is not None:
                    return self, [*inner, *remaining]
            recorded = self._recorded() if self._recorded else None
            if recorded and (inner := _below(target, recorded)) is not None:
                return Beneath(recorded, owners=self.owners(), any_owner=self._any_owner), [*inner, *remaining]
        raise RefusedFileError("link", f"{self.root}/{'/'.join(parts)}")

    def owners(self) -> frozenset[int]:
        """Return the numbers of the accounts whose files are read here. Raises OSError: the folder is not there."""
        if self._owners is not None:
            return self._owners
        walk = _Walk(self)
        walk.close()
        return walk.owners

    def named(self, error: OSError, name: str) -> OSError:
        """Return an error of one part of a name as one of the whole; a socket cannot be opened, so its kind is told."""
        if isinstance(error, RefusedFileError):
            return error
        if error.errno in (errno.ENXIO, errno.ENODEV):
            return RefusedFileError("kind", f"{self.root}/{name}")
        self._note(error, name)
        return OSError(error.errno, error.strerror, f"{self.root}/{name}")

    def appeared(self, *names: str) -> None:
        """Forget that these names, without names all, were not there when they were looked for: they could not be yet.

        For what waits or writes: what is read from here on is noted anew.
        """
        for name in names or [name for name, number in self._failed.items() if number == errno.ENOENT]:
            self._failed.pop(name, None)

    def _note(self, error: OSError, name: str) -> None:
        """Remember what could not be read; by that `unsure` tells what may be there all the same."""
        if error.errno in UNSURE and len(self._failed) < FAILED:
            self._failed[name] = error.errno


class _Held:
    """The directories that a held folder has open; their descriptors are closed with it."""

    __slots__ = ("closed", "descriptor", "folders", "owners")

    def __init__(self, descriptor: int, owners: frozenset[int], closed: bool) -> None:
        self.descriptor = descriptor
        self.owners = owners
        self.closed = closed
        self.folders: dict[tuple[str, ...], tuple[int, bool]] = {}
        """Parts of a folder's name → (descriptor, whether only root and the reader write there and on the way)."""


class _Walk:
    """The way down from a directory: the descriptor of where it stands, and whether only root and the reader write."""

    __slots__ = ("closed", "depth", "descriptor", "folder", "lent", "owners")

    def __init__(self, folder: Beneath) -> None:
        self.folder = folder
        self.depth = 0
        opened = folder._held
        self.lent = opened is not None
        """Whether the descriptor is not this walk's to close."""
        if opened is not None:
            self.descriptor, self.owners, self.closed = opened.descriptor, opened.owners, opened.closed
        else:
            self.descriptor, maker = folder._top()
            self.owners, self.closed = folder._trust(os.fstat(self.descriptor), maker)

    def into(self, parts: Sequence[str]) -> tuple[int, str] | None:
        """Enter these folders as `down` does; a held folder keeps the last one open for the next walk."""
        opened = self.folder._held
        if opened is None or not parts:
            return self.down(parts, _FOLDER)
        key = tuple(parts)
        entered = opened.folders.get(key)
        if entered is not None:
            self.descriptor, self.closed = entered
            self.depth = len(key)
            return None
        led = self.down(parts, _FOLDER)
        if led is None and len(opened.folders) < HELD:
            opened.folders[key] = self.descriptor, self.closed
            self.lent = True
        return led

    def down(self, parts: Sequence[str], flags: int) -> tuple[int, str] | None:
        """Enter these parts; return (number of the part, what it says) when one of them is a link."""
        for part in parts:
            try:
                inner = os.open(part, flags, dir_fd=self.descriptor)
            except OSError as error:
                target = _target(part, self.descriptor) if error.errno in _IS_LINK else None
                if target is None:
                    raise
                return self.depth, target
            self.close()
            self.descriptor, self.lent = inner, False
            self.depth += 1
            if flags == _FOLDER:
                self.closed = self.closed and _is_closed(os.fstat(inner))
        return None

    def check(self, is_kind: Callable[[int], bool], name: str) -> os.stat_result:
        """Return the state of what stands open, which is of the wanted kind and of an owner whose files are read.

        Raises RefusedFileError for anything else.
        """
        state = os.fstat(self.descriptor)
        if not is_kind(state.st_mode):
            raise RefusedFileError("kind", f"{self.folder.root}/{name}")
        own = state.st_uid in self.owners and state.st_uid != 0
        if not own and not self.folder._any_owner and not (state.st_uid == 0 and self.closed):
            raise RefusedFileError("owner", f"{self.folder.root}/{name}")
        return state

    def taken(self) -> int:
        """Return the descriptor, which the caller closes."""
        if self.lent:
            self.descriptor, self.lent = os.dup(self.descriptor), False
        descriptor, self.descriptor = self.descriptor, -1
        return descriptor

    def close(self) -> None:
        """Close the descriptor unless it was taken."""
        if self.descriptor != -1 and not self.lent:
            os.close(self.descriptor)
        self.descriptor = -1


def maker_of(name: str) -> int | None:
    """Return the account that made a link; None for a link of root or of the reader. Raises OSError.

    What is no link any more was swapped a moment ago, and whoever can do that made the link.
    """
    state = os.lstat(name)
    mine = stat.S_ISLNK(state.st_mode) and state.st_uid in (0, os.geteuid())
    return None if mine else state.st_uid


def leads_to_others(name: str) -> bool:
    """Return whether a name is a link that its maker set to what is neither the maker's nor, made by root, anybody's.

    A link that the reader made leads where the reader wants.
    """
    try:
        if not stat.S_ISLNK(os.lstat(name).st_mode):
            return False
        maker = maker_of(name)
        return maker is not None and os.stat(name).st_uid != maker  # noqa: PTH116
    except OSError:
        return True


def _is_closed(state: os.stat_result) -> bool:
    """Return whether nobody but root and the reader can write in a directory.

    The bits of the group bound an access list, too: it cannot give more than they do.
    """
    return state.st_uid in (0, os.geteuid()) and not others_write(state)


def _parts(name: str, root: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise RefusedFileError("outside", f"{root}/{name}".replace("\0", "?"))
    return parts


def _target(part: str, folder: int) -> str | None:
    """Return what a link says; None for what is no link."""
    try:
        return os.readlink(part, dir_fd=folder)
    except OSError:
        return None


def _below(path: str, folder: str) -> list[str] | None:
    """Return the parts of a path beneath a folder, None when it is not beneath it."""
    full, begin = os.path.normpath(path), os.path.normpath(folder)
    if full == begin:
        return []
    begin = f"{begin.rstrip('/')}/"
    return full[len(begin) :].split("/") if full.startswith(begin) else None
