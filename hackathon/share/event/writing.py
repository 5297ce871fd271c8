"""Put an event's hackathon.yaml in its place: never over another, and whole or not at all."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.problems import MAXIMUM_BYTES, ConfigError, Problem
from hackathon.share.event.draft import Draft, checked, event_text, with_teams
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import open_regular

if TYPE_CHECKING:
    from hackathon.share.event.table import Table

OPEN_MODE = 0o755


def read_text(path: Path) -> str:
    """Return a file's text; bytes that are no UTF-8 are kept. Raises ConfigError: missing, unreadable, too large."""
    try:
        with open_regular(path) as stream:
            raw = stream.read(MAXIMUM_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([Problem("config.file_missing", path)]) from None
    except OSError as error:
        values = {"reason": error.strerror or str(error)}
        raise ConfigError([Problem("config.file_unreadable", path, values=values)]) from None
    if len(raw) > MAXIMUM_BYTES:
        raise ConfigError([Problem("config.file_too_large", path, values={"limit": f"{MAXIMUM_BYTES >> 20} MiB"})])
    return raw.decode("utf-8", "surrogateescape")


def drafted(draft: Draft) -> tuple[str, list[str]]:
    """Return a new hackathon.yaml and the names of its teams, at least one word. Raises ConfigError."""
    text = event_text(draft)
    checked(text, Path("hackathon.yaml"))
    return text, [team.name for team in draft.teams] or [""]


def copied(source: Path, table: "Table | None") -> tuple[str, list[str]]:
    """Return the hackathon.yaml in a file, with a table's teams added, and the names of all teams, at least one word.

    Raises ConfigError when it is wrong.
    """
    text = read_text(source)
    if table is not None:
        text, _ = with_teams(text, source, table.teams)
    return text, [team.name for team in checked(text, source).teams] or [""]


def added(path: Path, table: "Table | None") -> tuple[str, list[str]]:
    """Return the hackathon.yaml that is there with the teams of a table that it lacks, and the names of those."""
    text = read_text(path)
    checked(text, path)
    return with_teams(text, path, table.teams) if table is not None else (text, [])


def write_event(path: Path, text: str, owner: int) -> None:
    """Write hackathon.yaml: new, or in place of the one with fewer teams that belongs to the same user.

    Raises RequestError when somebody else owns it or has written one meanwhile, HackathonError when it can not be
    written.
    """
    from hackathon.share.store import publish
    from hackathon.text.files import write_whole

    raw = text.encode("utf-8", "surrogateescape")
    try:
        if path.exists():
            before = path.stat()
            if os.geteuid() not in (0, before.st_uid):
                raise RequestError("event.others_file", file=path)
            write_whole(path, raw, before.st_mode & 0o777)
            path.chmod(before.st_mode & 0o7777)
            if os.geteuid() == 0:
                os.chown(path, before.st_uid, before.st_gid)
            return
        _make_way(path.parent, owner)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            publish(descriptor, path.name, raw)
            if os.geteuid() == 0 and owner != 0:
                os.chown(path.name, owner, -1, dir_fd=descriptor, follow_symlinks=False)
        finally:
            os.close(descriptor)
    except FileExistsError as error:
        raise RequestError("event.exists", file=path) from error
    except OSError as error:
        raise HackathonError("event.can_not_make", path=path, what=error.strerror or str(error)) from error


def _make_way(folder: Path, owner: int) -> None:
    """Make a folder and those above it that are missing, so that others can go through whatever the umask is."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir()
        each.chmod(OPEN_MODE)
        if os.geteuid() == 0 and owner != 0:
            os.chown(each, owner, -1)
