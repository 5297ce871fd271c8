"""What is wrong with an event, as far as one account can see: the file, its schedule, clusters, people, directories."""

import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.problems import KeyPath
from hackathon.text.errors import HackathonError
from hackathon.text.messages import lookup, message
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.yaml import Document
    from hackathon.share.ready import TeamReadiness

LEVELS = ("error", "warning", "remark")
MEMBERS_AT_MOST = 3
"""Members of a team at the event of 2019; more is only a remark."""


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong, or worth to know; its texts are made in the language of the moment."""

    level: str
    """error: something will fail; warning: something is likely wrong; remark."""
    id: str
    """Key of the catalogue `event_check`."""
    where: str = ""
    """`hackathon.yaml:12` or a path; empty for the event as a whole."""
    values: dict[str, Any] = field(default_factory=dict)
    team: str = ""

    @property
    def what(self) -> str:
        """What is wrong."""
        return message(f"event_check.{self.id}", **self._shown())

    @property
    def remedy(self) -> str:
        """What to do about it; empty where that is plain."""
        key = f"event_check.{self.id}_hint"
        return message(key, **self._shown()) if lookup(key) else ""

    def _shown(self) -> dict[str, Any]:
        return {name: printable(str(value)) for name, value in self.values.items()}


class Looker:
    """What is known of an event, and the troubles found so far."""

    def __init__(self, event: "Event", folder: Path, document: "Document") -> None:
        self.event = event
        self.folder = folder
        self.document = document
        self.found: list[Trouble] = []

    def line(self, *keys: str | int) -> str:
        """Return where a key, or what it would stand in, is: `hackathon.yaml:12`; the file alone for what it lacks."""
        path: KeyPath = keys
        if path[:1] not in self.document.places:
            return self.document.path.name
        return f"{self.document.path.name}:{self.document.line(path)}"

    def add(self, level: str, identifier: str, where: str | Path = "", team: str = "", **values: Any) -> None:
        """Note a trouble."""
        given = {name: self.near(value) if isinstance(value, Path) else value for name, value in values.items()}
        place = self.near(where) if isinstance(where, Path) else where
        self.found.append(Trouble(level, identifier, printable(place), {"team": team, **given}, team))

    def near(self, path: Path) -> str:
        """Return a path as it is shown: relative to the event's folder where it lies in it."""
        inside = path != self.folder and path.is_relative_to(self.folder)
        return str(path.relative_to(self.folder)) if inside else str(path)


def look(folder: Path, *, live: bool = False) -> tuple["Event", list[Trouble]]:
    """Return an event and what is wrong with it: errors first, then in the order of the file. Nothing is changed.

    With `live` schedulers are asked about their queues. Raises ConfigError when hackathon.yaml itself is wrong.
    """
    from hackathon.config.load import EVENT_FILE, load_event
    from hackathon.config.yaml import read_yaml
    from hackathon.share.event import accounts, folders, machines

    event = load_event(folder)
    looker = Looker(event, folder.absolute(), read_yaml(folder / EVENT_FILE))
    _file(looker)
    _dates(looker)
    _schedule(looker)
    machines.look(looker, live=live)
    known = accounts.look(looker)
    folders.look(looker, known)
    return event, sorted(looker.found, key=lambda trouble: LEVELS.index(trouble.level))


def readiness(event: "Event", folder: Path) -> "dict[str, TeamReadiness]":
    """Return how ready the teams are by what they posted with `hackathon ready`; empty without a board or teams."""
    from hackathon.share.board import read_board
    from hackathon.share.people import People
    from hackathon.share.place import open_place
    from hackathon.share.ready import collected

    if not event.shared:
        return {}
    try:
        board = read_board(open_place(folder / Path(event.shared).expanduser()), People(event))
    except HackathonError:
        return {}  # that there is no board is among the troubles
    return collected(board, event)


def _file(looker: Looker) -> None:
    """Look at hackathon.yaml itself: who writes it decides who is a tutor, and what is published."""
    path = looker.document.path
    for each, name in ((path, path.name), (path.parent, "")):
        found = each.stat()
        sticky = each is not path and found.st_mode & stat.S_ISVTX
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
            values = {"mode": stat.filemode(found.st_mode), "command": f"chmod go-w {_quoted(each)}"}
            looker.add("error", "file_open" if name else "folder_open", each, **values)


def _dates(looker: Looker) -> None:
    event = looker.event
    if not event.dates:
        looker.add("warning", "no_dates", looker.line("dates"))
        return
    today = time.strftime("%Y-%m-%d")
    if max(event.dates) < today:
        looker.add("warning", "past", looker.line("dates"), last=max(event.dates))


def _schedule(looker: Looker) -> None:
    from hackathon.share.event.schedule import overlaps

    event = looker.event
    if not event.schedule:
        looker.add("warning", "no_schedule", looker.line("schedule"))
        return
    for one, other in overlaps(event):
        values = {"title": other.title, "time": _time(other), "other": one.title, "other_time": _time(one)}
        other_line = looker.line("schedule", one.index).rpartition(":")[2]
        looker.add("error", "overlap", looker.line("schedule", other.index), line=other_line, **values)
    empty = [date for date in event.dates if date not in {item.day for item in event.schedule}]
    if empty:
        looker.add("remark", "day_empty", looker.line("schedule"), days=", ".join(empty))


def _time(slot: Any) -> str:
    return f"{slot.day} {slot.time}"


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def teams(looker: Looker) -> Iterator[tuple[int, Any]]:
    """Yield the teams that took part, or will, with their place in the file."""
    for index, team in enumerate(looker.event.teams):
        if team.took_part:
            yield index, team


def owner_word(path: Path) -> str:
    """Return mode, owner and group of a file as `ls -l` shows them, `+` for an access control list."""
    from hackathon.share.event.lists import read_list
    from hackathon.share.event.making import group_name, user_name

    found = path.stat()
    more = "+" if read_list(path.resolve()) else ""  # of what a link leads to, as `stat`
    return f"{stat.filemode(found.st_mode)}{more} {user_name(found.st_uid)}:{group_name(found.st_gid)}"
