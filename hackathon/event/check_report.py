"""The state that the checks of an event share, and the troubles that they note."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.records import KeyPath
from hackathon.text.messages import Message, _
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.yaml import Document

LEVELS = ("error", "warning", "remark")
MEMBERS_AT_MOST = 3
"""Members of a team at the event of 2019; a larger team gets a remark."""


@dataclass(frozen=True)
class Trouble:
    """One problem or remark; its texts are in the current language."""

    level: str
    """error: something will fail; warning: something is likely wrong; remark."""
    identifier: Message
    """What is wrong, and the id in JSON."""
    where: str = ""
    """`hackathon.yaml:12` or a path; empty for the event as a whole."""
    values: dict[str, Any] = field(default_factory=dict)
    team: str = ""

    @property
    def id(self) -> str:
        """What JSON calls it."""
        return self.identifier.partition(".")[2]

    @property
    def what(self) -> str:
        """The problem."""
        return _(self.identifier, **self._shown())

    @property
    def remedy(self) -> str:
        """The remedy; empty if it is obvious."""
        return _(self.identifier.hint, **self._shown()) if self.identifier.hint else ""

    def _shown(self) -> dict[str, Any]:
        return {name: printable(str(value)) for name, value in self.values.items()}


class Checker:
    """The facts about an event, and the troubles noted so far."""

    def __init__(self, event: "Event", folder: Path, document: "Document") -> None:
        self.event = event
        self.folder = folder
        self.document = document
        self.found: list[Trouble] = []

    def line(self, *keys: str | int) -> str:
        """Return the position of a key, or of its nearest parent: `hackathon.yaml:12`.

        The file name if its section is missing.
        """
        path: KeyPath = keys
        if path[:1] not in self.document.places:
            return self.document.path.name
        return f"{self.document.path.name}:{self.document.line(path)}"

    def add(self, level: str, identifier: Message, location: str | Path = "", team: str = "", **values: Any) -> None:
        """Note a trouble."""
        texts = {name: self.near(value) if isinstance(value, Path) else value for name, value in values.items()}
        position = self.near(location) if isinstance(location, Path) else location
        self.found.append(Trouble(level, identifier, printable(position), {"team": team, **texts}, team))

    def near(self, path: Path) -> str:
        """Return a path for display, relative to the event's folder if it is in it."""
        inside = path != self.folder and path.is_relative_to(self.folder)
        return str(path.relative_to(self.folder)) if inside else str(path)


def teams(checker: Checker) -> Iterator[tuple[int, Any]]:
    """Yield the teams that took part, or will, with their index in the file."""
    for index, team in enumerate(checker.event.teams):
        if team.took_part:
            yield index, team


def owner_word(path: Path) -> str:
    """Return mode, owner and group of a file as `ls -l` prints them, `+` for an access control list."""
    from hackathon.access.acl import read_list
    from hackathon.access.permissions import group_name, user_name

    status = path.stat()
    more = "+" if read_list(path.resolve()) else ""  # of a link's target, like `stat`
    return f"{stat.filemode(status.st_mode)}{more} {user_name(status.st_uid)}:{group_name(status.st_gid)}"
