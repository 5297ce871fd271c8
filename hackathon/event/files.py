"""Write an event's hackathon.yaml atomically, and never over another file."""

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.safe_directories import make_way
from hackathon.config.problems import read_bounded
from hackathon.event.draft import Draft, checked, event_text, with_teams
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.kill_points import step
from hackathon.text.messages import NP_

if TYPE_CHECKING:
    from hackathon.event.table import ParticipantTable

OPEN_MODE = 0o755


def read_text(path: Path) -> str:
    """Return a file's text; bytes that are not UTF-8 are kept. Raises ConfigError: missing, unreadable, too large."""
    return read_bounded(path).decode("utf-8", "surrogateescape")


def drafted(draft: Draft) -> tuple[str, list[str]]:
    """Return a new hackathon.yaml and the names of its teams ([""] without teams). Raises ConfigError."""
    text = event_text(draft)
    checked(text, Path("hackathon.yaml"))
    return text, [team.name for team in draft.teams] or [""]


def copied(source: Path, table: "ParticipantTable | None") -> tuple[str, list[str]]:
    """Return the hackathon.yaml in a file with a table's teams added, and the names of all teams ([""] without teams).

    Raises ConfigError if it is invalid.
    """
    text = read_text(source)
    if table is not None:
        text, _ = with_teams(text, source, table.teams)
    return text, [team.name for team in checked(text, source).teams] or [""]


def added(path: Path, table: "ParticipantTable | None") -> tuple[str, list[str]]:
    """Return the existing hackathon.yaml with the table's missing teams added, and the names of those."""
    text = read_text(path)
    checked(text, path)
    return with_teams(text, path, table.teams) if table is not None else (text, [])


def write_event(path: Path, text: str, owner: int) -> None:
    """Write hackathon.yaml: a new file, or in place of the same user's file with fewer teams.

    Raises RequestError if another user owns the file or has written one meanwhile, or if it is a link; HackathonError
    if it cannot be written.
    """
    from hackathon.access.publish import publish

    raw = text.encode("utf-8", "surrogateescape")
    try:
        if os.path.lexists(path):
            before = path.lstat()
            if not stat.S_ISREG(before.st_mode):
                raise RequestError(
                    "event.no_plain_file",
                    "{file} is a link or not a regular file",
                    hint="Add the teams by hand.",
                    file=path,
                )
            if os.geteuid() not in (0, before.st_uid):
                raise RequestError(
                    "event.others_file",
                    "{file} belongs to another user",
                    hint="Ask its owner to add the teams.",
                    file=path,
                )
            _replace(path, raw, before)
            return
        make_way(path.parent, OPEN_MODE, owner)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            publish(descriptor, path.name, raw)
            if os.geteuid() == 0 and owner != 0:
                os.chown(path.name, owner, -1, dir_fd=descriptor, follow_symlinks=False)
        finally:
            os.close(descriptor)
    except FileExistsError as error:
        raise RequestError(
            "event.exists",
            NP_("event", "{file} already exists"),
            hint="It is not overwritten: edit it, then run `hackathon event init` without --from and without other "
            "values; --teams adds new teams of a table.",
            file=path,
        ) from error
    except OSError as error:
        raise HackathonError(
            "event.can_not_make", "cannot create {path}: {what}", path=path, what=error.strerror or str(error)
        ) from error


def _replace(path: Path, raw: bytes, before: os.stat_result) -> None:
    """Replace a file, keeping its owner and mode; nothing but the new file is changed."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    hidden = f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp"
    try:
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(raw)
                stream.flush()
                if os.geteuid() == 0:
                    os.fchown(stream.fileno(), before.st_uid, before.st_gid)
                os.fchmod(stream.fileno(), before.st_mode & 0o777)
                os.fsync(stream.fileno())
            step("before-replace")
            os.rename(hidden, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            step("after-replace")
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(hidden, dir_fd=folder)
            raise
    finally:
        os.close(folder)
