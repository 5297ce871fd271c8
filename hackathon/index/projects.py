"""Find the folders whose runs may be displayed or counted, and their teams; links that lead out are not followed."""

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.event import team_folders
from hackathon.runs.directory import REMOVED
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.event import Event

DEPTH = 3
"""Levels below a team's folder that are searched for projects."""
MOST_FOLDERS = 5000
"""The most folders that are searched below one team's folder."""
_INSIDE = frozenset({"runs", "studies", "node_modules", "__pycache__", "site-packages"})
"""Folders that contain no projects."""


@dataclass(frozen=True)
class ProjectFolder:
    """A folder with `runs/`, and its team."""

    path: Path
    team: str = ""
    """The team of the event; empty outside an event."""
    title: str = ""
    """The title of its work in `hackathon.yaml`."""
    shown: bool = True
    """False for a project in the event's folder but in no team's: its runs count for their owners' teams."""


class Containment:
    """Folders, and the rule for symbolic links below them: a link that stays in one of them is followed.

    With `own`, links by this user to folders of this user are followed too, because the user then sees only own files.
    `others`: folders of other teams, (folder, team), whose content belongs to that team. `shared`: a folder in which a
    link may also lead to a folder of no team, if the link's creator owns that folder or the shared one, or is root.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        own: bool = False,
        others: Sequence[tuple[Path, str]] = (),
        shared: Path | None = None,
        resolve: Callable[[Path], str] = os.path.realpath,
    ) -> None:
        self._roots = tuple(dict.fromkeys(resolve(root) for root in roots))
        self._others = tuple((resolve(root), team) for root, team in others)
        self._shared = resolve(shared) if shared is not None else None
        self._own = own

    def allow(self, path: str) -> bool:
        """Return whether a folder that is a symbolic link, or lies behind one, may be read."""
        real = os.path.realpath(path)
        within = self._within(real)
        if self._whose(real, within) is not None:
            return False
        if within >= 0:
            return True
        try:
            maker, owner = os.lstat(path).st_uid, os.stat(real).st_uid  # noqa: PTH116
            if self._shared is not None and _is_below(real, self._shared):
                return maker in (0, owner, os.stat(self._shared).st_uid)  # noqa: PTH116
            return self._own and maker == owner == os.geteuid()
        except OSError:
            return False

    def allow_run(self, path: str) -> bool:
        """Return whether a run that is a symbolic link is read.

        In an event, a link to a run in another folder `runs` is not, because the run counts there.
        """
        above = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
        return self.allow(path) and (self._own or os.path.basename(above) not in ("runs", REMOVED))  # noqa: PTH119

    def refusal(self, path: str) -> str:
        """Return why a link is not followed, in the current language."""
        real = os.path.realpath(path)
        team = self._whose(real, self._within(real))
        if team is not None:
            return _(
                "{path} is a link to a folder of team {team}; it is not followed, because runs count where "
                "they are stored",
                path=path,
                team=team,
            )
        return _(
            N_("{path} is a link to another run; it is not followed, because runs count where they are stored")
            if self.allow(path)
            else N_("{path} is a link that leads out of the event's folders; it is not followed"),
            path=path,
        )

    def _within(self, real: str) -> int:
        """Return the length of the longest root that contains a path; -1 if none does."""
        return max((len(root) for root in self._roots if _is_below(real, root)), default=-1)

    def _whose(self, real: str, within: int) -> str | None:
        """Return the other team that owns a path, None if there is none; the innermost folder counts."""
        theirs = max(((len(root), team) for root, team in self._others if _is_below(real, root)), default=(-1, ""))
        return theirs[1] if theirs[0] > within else None


class Bounds:
    """The links that are followed below each team's folders, and below folders of no team."""

    def __init__(self, roots: Sequence[tuple[Path, str]], *, shared: Path | None = None, own: bool = False) -> None:
        self._roots, self._shared, self._own = list(roots), shared, own
        self._made: dict[str, Containment] = {}
        self._resolve = functools.cache(os.path.realpath)  # each team's rule includes the folders of all teams

    def of(self, team: str) -> Containment:
        """Return the rule for the folders of a team; of no team, if the name is empty."""
        if team not in self._made:
            mine = [root for root, its in self._roots if its in (team, "")]  # the user named those of no team
            foreign_roots = [(root, its) for root, its in self._roots if its not in (team, "")]
            self._made[team] = Containment(
                mine, own=self._own, others=foreign_roots, shared=self._shared, resolve=self._resolve
            )
        return self._made[team]


def _is_below(real: str, root: str) -> bool:
    return real == root or real.startswith(f"{root.rstrip('/')}/")


def find_projects(
    event_folder: Path | None,
    event: "Event | None",
    folders: Sequence[Path],
    *,
    strays: list[str] | None = None,
    without: Sequence[Path] = (),
) -> tuple[list[ProjectFolder], list[str]]:
    """Return the folders with `runs/` and the problems while reading, in the current language.

    Searched are each team's folders (`folders` of hackathon.yaml, else the team's name beside that file), then
    `folders`, each down to DEPTH levels; without any team and without `folders` the event's own folder. A folder that
    two of them lead to counts once, for the first. With `strays`, the other folders of the event are searched too: they
    are not displayed, their problems are added to `strays`, and `without` is skipped.
    """
    problems: list[str] = []
    roots = _roots(event_folder, event, folders, problems)
    bounds = bounds_of(event_folder, event, folders)
    unique: dict[tuple[int, int] | str, ProjectFolder] = {}
    for root, team, title in roots:
        foreign_roots = frozenset(str(path) for path, its, _ in roots if its != team and path != root)
        for path in _below(root, bounds.of(team), problems, foreign_roots):
            unique.setdefault(_identity(path), ProjectFolder(Path(path), team, title))
    if strays is not None and event_folder is not None:
        walked = frozenset([*(str(root) for root, _, _ in roots), *map(str, without)])
        base = event_folder.absolute()
        for path in _below(base, bounds.of(""), strays, walked) if str(base) not in walked else ():
            unique.setdefault(_identity(path), ProjectFolder(Path(path), shown=False))
    return sorted(unique.values(), key=lambda project: (project.team, str(project.path))), list(dict.fromkeys(problems))


def bounds_of(event_folder: Path | None, event: "Event | None", folders: Sequence[Path]) -> Bounds:
    """Return which links may be followed below the folders of an event, or below `folders` without one.

    A link to the folder of another team is not followed: a run counts for the team in whose folder it really is.
    """
    roots = [(root, team) for root, team, _ in _roots(event_folder, event, folders, [])]
    return Bounds(roots, shared=event_folder, own=event is None)


def _identity(project: str) -> tuple[int, int] | str:
    """Return the identity of a project's folder `runs`, the same for every path that leads to it."""
    try:
        state = os.stat(f"{project}/runs")  # noqa: PTH116
    except OSError:
        return os.path.realpath(project)
    return state.st_dev, state.st_ino


def _roots(
    event_folder: Path | None, event: "Event | None", folders: Sequence[Path], problems: list[str]
) -> list[tuple[Path, str, str]]:
    """Return (folder, team, title of the team's work)."""
    roots: list[tuple[Path, str, str]] = []
    base = event_folder.absolute() if event_folder is not None else None
    if event is not None and base is not None:
        named = [(folder, team) for team in event.teams for folder in team_folders(team, base)]
        plain = [(folder, team.name) for folder, team in named if not _is_led(folder, base)]
        for folder, team in named:
            if _is_led(folder, base):
                # below the event's folder a link may be a team's; the event's file names folders elsewhere
                inside = Containment([base], others=[(path, its) for path, its in plain if its != team.name])
                if not inside.allow(str(folder)):
                    problems.append(inside.refusal(str(folder)))
                    continue
            roots.append((folder, team.name, team.project))
    for path in folders:
        folder = Path(os.path.normpath(path.absolute()))
        team_name, title = next(((name, title) for root, name, title in roots if folder.is_relative_to(root)), ("", ""))
        roots.append((folder, team_name, title))
    if not roots and base is not None:
        roots.append((base, "", ""))
    return roots


def _is_led(folder: Path, base: Path) -> bool:
    """Return whether a team's folder below the event's is a link, or lies behind one."""
    if not folder.is_relative_to(base):
        return False
    return os.path.realpath(folder) != str(Path(os.path.realpath(base)) / folder.relative_to(base))


def _below(root: Path, bounds: Containment, problems: list[str], walked: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the folders with `runs/` from the root downwards, except `walked`, and note unreadable ones."""
    level, count = [str(root)], 0
    for depth in range(DEPTH + 1):
        following: list[str] = []
        for folder in level:
            count += 1
            if count > MOST_FOLDERS:
                problems.append(
                    _(
                        "only the first {count} folders below {path} were searched for projects",
                        path=root,
                        count=MOST_FOLDERS,
                    )
                )
                return
            try:
                inside = _folders(folder, bounds, problems)
            except FileNotFoundError:
                if depth == 0:
                    problems.append(_("{path} does not exist yet", path=root))
                continue
            except OSError as error:
                problems.append(_("{path} cannot be read: {what}", path=folder, what=error.strerror or error))
                continue
            if "runs" in inside:
                yield folder
            below = [f"{folder}/{name}" for name in inside if name not in _INSIDE and name[0] != "."]
            following += [path for path in below if path not in walked]
        level = following


def _folders(folder: str, bounds: Containment, problems: list[str]) -> list[str]:
    """Return the names of the subfolders of a folder, sorted, without links that lead out. Raises OSError."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if not entry.name.isprintable() or not entry.is_dir():
                    continue  # a page cannot contain a name that is not valid text
                if entry.is_symlink() and not bounds.allow(entry.path):
                    if entry.name == "runs" or os.path.isdir(f"{entry.path}/runs"):  # noqa: PTH112
                        problems.append(bounds.refusal(entry.path))
                    continue
            except OSError:
                continue
            names.append(entry.name)
    return sorted(names)
