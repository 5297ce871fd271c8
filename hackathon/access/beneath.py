"""Open files beneath another account's directory: no link leads out, nothing blocks, the descriptor is checked.

Whoever writes in a run's directory can put anything there: a link to a file that only the reader may read, a pipe
without a writer, a hard link to another account's file. A check of the name does not protect the open that follows it.
So every file is opened component by component from the descriptor of the directory, with O_NOFOLLOW, and the opened
file is checked. This is RESOLVE_BENEATH of openat2(2), which Python does not offer and macOS does not have.
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
from hackathon.text.messages import N_, _

REFUSALS = {
    "link": N_("it is a link that leads out of the folder"),
    "kind": N_("it is not a regular file"),
    "owner": N_("it does not belong to the owner of the folder"),
    "outside": N_("the path leads out of the folder"),
}
"""Reason for which a file is not opened → its text."""

LINKS = 8
"""Links in one name that are resolved if they stay beneath the directory."""
HELD = 32
"""The most folders below a held one that stay open."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_IS_LINK = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""Errors for a link with O_NOFOLLOW, by operating system."""
UNSURE = frozenset({errno.ENOENT, errno.ESTALE, errno.EIO, errno.ETIMEDOUT, errno.EAGAIN})
"""Temporary errors of a file server for an existing name; for ENOENT, the name's folder shows whether it exists."""
FAILED = 1000
_NUMBERS = {"link": errno.ELOOP, "kind": errno.EINVAL, "owner": errno.EACCES, "outside": errno.EACCES}


class RefusedFileError(OSError):
    """A file that exists and is not opened; `reason` is link, kind, owner or outside, `strerror` explains it.

    It is an OSError, so that code which skips unreadable files skips these too.
    """

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(_NUMBERS[reason], _(REFUSALS[reason]), path)
        self.reason = reason

    def __reduce__(self) -> "tuple[type[RefusedFileError], tuple[str, str]]":
        """Keep the arguments, so that another process can unpickle it."""
        return RefusedFileError, (self.reason, str(self.filename))


class Beneath:
    """A directory whose files may be another account's.

    A regular file is opened if the directory's owner owns it (if the directory's name is a link by somebody else, the
    link's owner). A file of root's is opened only if no other account can write in the directories above it. `owners`
    replaces the accepted owners, and includes root only if it lists root; `any_owner` accepts all owners, for a folder
    that several people share. A link that stays beneath the directory is resolved here, not by the kernel; with `links`
    False every link is refused. `recorded` returns the one folder outside to which the toolkit itself created links (an
    adopted run's job folder), or None. Those links are not followed either: their targets are compared with the record,
    and the file is opened beneath the recorded folder by the same rules.
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
        """Name → error number of the failed read, for the first FAILED names."""

    @contextmanager
    def held(self) -> Iterator[Self]:
        """Yield a copy that opens and checks each directory only once while the block runs.

        Raises OSError if the folder cannot be opened.
        """
        opened = copy(self)
        descriptor, maker = self._top()
        try:
            opened._held = _Held(descriptor, *self._trust(os.fstat(descriptor), maker))
            yield opened
        finally:
            if opened._held is not None:
                for inner, __ in opened._held.folders.values():
                    os.close(inner)
            opened._held = None
            os.close(descriptor)

    def _trust(self, state: os.stat_result, maker: int | None) -> tuple[frozenset[int], bool]:
        """Return the accepted owners of files in a directory, and whether only root and the reader can write there.

        Accounts that can name the directory could name one of root's. `maker`: the owner of the link that led here.
        """
        if self._owners is None and maker is not None:
            return frozenset({maker}), False
        owners = frozenset({state.st_uid}) if self._owners is None else self._owners
        return owners, _is_closed(state) and (self._owners is None or 0 in self._owners)

    def _top(self) -> tuple[int, int | None]:
        """Return a descriptor of the directory, and the owner of the link that its name is.

        None without another's link. Links further above are the reader's own choice and are followed.
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
        """Return a walk that begins at the directory. Raises OSError."""
        try:
            return _Walk(self)
        except OSError as error:
            self._note(error, "")
            raise

    def opened(self, name: str, flags: int) -> int:
        """Return a descriptor of a checked file or, with the flags LISTED, of a checked folder."""
        return self.looked_at(name, flags)[0]

    def looked_at(self, name: str, flags: int) -> tuple[int, os.stat_result]:
        """Return the same descriptor and the state of the checked file or folder."""
        is_kind = stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG
        beneath, parts = self, _parts(name, self.root)
        for __ in range(LINKS):
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
        """Return (folder, last part, descriptor of the directory that contains it) of the file that a name leads to."""
        beneath, parts = self, _parts(name, self.root)
        for __ in range(LINKS):
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
        """Return where the link that is part `number` of a name leads, and the name there, without following it."""
        remaining = parts[number + 1 :]
        if not self._links:
            raise RefusedFileError("link", f"{self.root}/{'/'.join(parts)}")
        if not target.startswith("/"):
            # the parts before the link are checked directories, so `..` in it can be resolved as text
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
        """Return the ids of the accounts whose files are read here. Raises OSError if the folder does not exist."""
        if self._owners is not None:
            return self._owners
        walk = _Walk(self)
        walk.close()
        return walk.owners

    def named(self, error: OSError, name: str) -> OSError:
        """Return an error about one part of a name as an error about the full name.

        For a socket, which cannot be opened, its kind.
        """
        if isinstance(error, RefusedFileError):
            return error
        if error.errno in (errno.ENXIO, errno.ENODEV):
            return RefusedFileError("kind", f"{self.root}/{name}")
        self._note(error, name)
        return OSError(error.errno, error.strerror, f"{self.root}/{name}")

    def appeared(self, *names: str) -> None:
        """Forget that these names (by default all names) did not exist earlier.

        Code that waits or writes calls this; later reads are recorded again.
        """
        for name in names or [name for name, number in self._failed.items() if number == errno.ENOENT]:
            self._failed.pop(name, None)

    def _note(self, error: OSError, name: str) -> None:
        """Record a name that could not be read; `unsure` uses this to list names that may exist."""
        if error.errno in UNSURE and len(self._failed) < FAILED:
            self._failed[name] = error.errno


class _Held:
    """The open directories of a held folder; their descriptors are closed with it."""

    __slots__ = ("closed", "descriptor", "folders", "owners")

    def __init__(self, descriptor: int, owners: frozenset[int], closed: bool) -> None:
        self.descriptor = descriptor
        self.owners = owners
        self.closed = closed
        self.folders: dict[tuple[str, ...], tuple[int, bool]] = {}
        """Parts of a folder's name → (descriptor, whether only root and the reader can write there and above)."""


class _Walk:
    """A walk down from a directory: the current descriptor, and whether only root and the reader can write there."""

    __slots__ = ("closed", "depth", "descriptor", "folder", "lent", "owners")

    def __init__(self, folder: Beneath) -> None:
        self.folder = folder
        self.depth = 0
        opened = folder._held
        self.lent = opened is not None
        """Whether another object closes the descriptor."""
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
        """Enter these parts; return (index of the part, its target) if one of them is a link."""
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
        """Return the state of the opened file, after checking its kind and owner.

        Raises RefusedFileError for any other kind or owner.
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
    """Return the account that created a link; None for a link of root or of the reader. Raises OSError.

    If the name is no longer a link, whoever replaced it could also have created it.
    """
    state = os.lstat(name)
    mine = stat.S_ISLNK(state.st_mode) and state.st_uid in (0, os.geteuid())
    return None if mine else state.st_uid


def leads_to_others(name: str) -> bool:
    """Return whether another account's link leads to a file that this account does not own; True if it is unreadable.

    A link of root or of the reader may lead anywhere.
    """
    try:
        if not stat.S_ISLNK(os.lstat(name).st_mode):
            return False
        maker = maker_of(name)
        return maker is not None and os.stat(name).st_uid != maker  # noqa: PTH116
    except OSError:
        return True


def _is_closed(state: os.stat_result) -> bool:
    """Return whether only root and the reader can write in a directory.

    The group bits also limit an access list, which cannot grant more than they do.
    """
    return state.st_uid in (0, os.geteuid()) and not others_write(state)


def _parts(name: str, root: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise RefusedFileError("outside", f"{root}/{name}".replace("\0", "?"))
    return parts


def _target(part: str, folder: int) -> str | None:
    """Return the target of a link; None for other files."""
    try:
        return os.readlink(part, dir_fd=folder)
    except OSError:
        return None


def _below(path: str, folder: str) -> list[str] | None:
    """Return the parts of a path beneath a folder; None if it is not beneath it."""
    full, begin = os.path.normpath(path), os.path.normpath(folder)
    if full == begin:
        return []
    begin = f"{begin.rstrip('/')}/"
    return full[len(begin) :].split("/") if full.startswith(begin) else None
