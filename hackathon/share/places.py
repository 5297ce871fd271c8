"""Which folders have runs that may be shown or counted, and whose; links that lead out are not followed."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

DEPTH = 3
"""Levels below a team's folder on which projects are looked for."""
MOST_FOLDERS = 5000
"""Folders that are looked at below one team's folder."""
_INSIDE = frozenset({"runs", "studies", "node_modules", "__pycache__", "site-packages"})
"""Folders that have no projects in them."""
_PLACEHOLDER = re.compile(r"\{(group|user)\}")
_UNSAFE = re.compile(r"[/\0]|\A\.\.?\Z")


@dataclass(frozen=True)
class Project:
    """A folder with `runs/`, and whose it is."""

    path: Path
    team: str = ""
    """The team of the event; empty outside an event."""
    title: str = ""
    """What it works on, in the words of `hackathon.yaml`."""


class Bounds:
    """Folders, and the rule which symbolic links below them are followed: those that stay in one of them.

    With `own` also links that this user made to folders of this user, who then looks at nothing but his own.
    """

    def __init__(self, roots: Sequence[Path], *, own: bool = False) -> None:
        self._roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self._own = own

    def allow(self, path: str) -> bool:
        """Return whether a folder that is a symbolic link, or lies behind one, may be read."""
        real = os.path.realpath(path)
        if any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in self._roots):
            return True
        try:
            return self._own and os.lstat(path).st_uid == os.stat(real).st_uid == os.geteuid()  # noqa: PTH116
        except OSError:
            return False


def find_projects(
    event_folder: Path | None, event: "Event | None", folders: Sequence[Path]
) -> tuple[list[Project], list[str]]:
    """Return the folders with `runs/` and what could not be read, in words of the current language.

    Looked at: each team's folders (`folders` of hackathon.yaml, else the team's name beside that file), then `folders`,
    each down to DEPTH levels; without any team and without `folders` the event's own folder. A folder that two of them
    lead to counts once, for the first.
    """
    problems: list[str] = []
    roots = _roots(event_folder, event, folders, problems)
    bounds = bounds_of(event_folder, event, folders)
    found: dict[str, Project] = {}
    for root, team, title in roots:
        for path in _below(root, bounds, problems):
            found.setdefault(os.path.realpath(path), Project(Path(path), team, title))
    return sorted(found.values(), key=lambda project: (project.team, str(project.path))), list(dict.fromkeys(problems))


def bounds_of(event_folder: Path | None, event: "Event | None", folders: Sequence[Path]) -> Bounds:
    """Return which links may be followed below the folders of an event, or below `folders` without one."""
    roots = [root for root, _, _ in _roots(event_folder, event, folders, [])]
    return Bounds([*roots, *([event_folder] if event_folder is not None else [])], own=event is None)


def team_folders(team: "Team", event_folder: Path) -> list[Path]:
    """Return the folders of a team, absolute; `{group}` and `{user}` are filled in, `{user}` by every member."""
    found: dict[Path, None] = {}
    for text in team.folders or [team.name]:
        names = set(_PLACEHOLDER.findall(text))
        groups = [team.group] if "group" in names else [""]
        users = [member.user for member in team.members] if "user" in names else [""]
        for group in groups:
            for user in users:
                if group is None or any(_UNSAFE.search(part) for part in (group, user)):
                    continue
                filled = text.replace("{group}", group).replace("{user}", user)
                if "\0" not in filled:
                    found[Path(os.path.normpath(event_folder.absolute() / Path(filled).expanduser()))] = None
    return list(found)


def _roots(
    event_folder: Path | None, event: "Event | None", folders: Sequence[Path], problems: list[str]
) -> list[tuple[Path, str, str]]:
    """Return (folder, team, what the team works on)."""
    roots: list[tuple[Path, str, str]] = []
    base = event_folder.absolute() if event_folder is not None else None
    if event is not None and base is not None:
        inside = Bounds([base])
        for team in event.teams:
            for folder in team_folders(team, base):
                # below the event's folder a link may be a team's own; a folder elsewhere was named by the event
                if folder.is_relative_to(base) and not inside.allow(str(folder)):
                    problems.append(message("watch.link_outside", path=folder))
                else:
                    roots.append((folder, team.name, team.project))
    for each in folders:
        folder = Path(os.path.normpath(each.absolute()))
        team_name, title = next(((name, title) for root, name, title in roots if folder.is_relative_to(root)), ("", ""))
        roots.append((folder, team_name, title))
    if not roots and base is not None:
        roots.append((base, "", ""))
    return roots


def _below(root: Path, bounds: Bounds, problems: list[str]) -> Iterator[str]:
    """Yield the folders with `runs/`, from the root downwards, and tell what can not be read."""
    level, seen = [str(root)], 0
    for depth in range(DEPTH + 1):
        following: list[str] = []
        for folder in level:
            seen += 1
            if seen > MOST_FOLDERS:
                problems.append(message("watch.too_many_folders", path=root, count=MOST_FOLDERS))
                return
            try:
                inside = _folders(folder, bounds, problems)
            except FileNotFoundError:
                if depth == 0:
                    problems.append(message("watch.folder_missing", path=root))
                continue
            except OSError as error:
                problems.append(message("watch.folder_unreadable", path=folder, what=error.strerror or error))
                continue
            if "runs" in inside:
                yield folder
            following += [f"{folder}/{name}" for name in inside if name not in _INSIDE and name[0] != "."]
        level = following


def _folders(folder: str, bounds: Bounds, problems: list[str]) -> list[str]:
    """Return the names of the folders in a folder, sorted, without links that lead outside. Raises OSError."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if not entry.name.isprintable() or not entry.is_dir():
                    continue  # a name that is no text can stand in no page
                if entry.is_symlink() and not bounds.allow(entry.path):
                    if entry.name == "runs":
                        problems.append(message("watch.link_outside", path=entry.path))
                    continue
            except OSError:
                continue
            names.append(entry.name)
    return sorted(names)
