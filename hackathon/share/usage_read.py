"""Read what runs used: from what is kept, from the runs themselves, and from schedulers' accounts."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.runs.directory import REMOVED, RunDirectory
from hackathon.share.places import Bounds, Project
from hackathon.share.usage_kept import Kept, events_mark, read_kept, write_kept
from hackathon.share.usage_run import RunUse, scheduled, use_of, with_account
from hackathon.text.errors import HackathonError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler

TOLD = 5
"""Problems of one kind in a folder that are told one by one."""


@dataclass
class Read:
    """What was read of one project's runs."""

    project: Project
    uses: list[RunUse] = field(default_factory=list)
    readable: bool = True
    """False when its folder of runs can not be listed."""
    problems: list[str] = field(default_factory=list)
    """In words of the current language."""


@dataclass
class _Folder:
    read: Read
    kept: Kept
    fresh: bool = False
    """Whether something is to be kept anew."""


def read_projects(
    projects: Sequence[Project],
    bounds: Bounds,
    *,
    now: float,
    ask: bool = False,
    load: "Callable[[str], Scheduler] | None" = None,
) -> tuple[list[Read], list[str]]:
    """Return what the runs of each project used, and the problems of schedulers that were asked.

    Nothing is written in any run's folder. With `ask` schedulers are asked for their accounts, in batches, about all
    runs whose account is not kept yet; `load` finds a scheduler by name (default: the registry).
    """
    folders = [_read_folder(project, bounds, now) for project in projects]
    problems = _ask(folders, now, load) if ask else []
    for folder in folders:
        if folder.fresh:
            write_kept(f"{folder.read.project.path}/runs", folder.kept)
        odd = [use for use in folder.read.uses if use.odd]
        for use in odd[:TOLD]:
            folder.read.problems.append(message(f"usage.odd_{use.odd}", run=use.id))
        if len(odd) > TOLD:
            folder.read.problems.append(
                message("usage.odd_more", count=len(odd) - TOLD, folder=folder.read.project.path)
            )
    return [folder.read for folder in folders], problems


def _read_folder(project: Project, bounds: Bounds, now: float) -> _Folder:
    runs = f"{project.path}/runs"
    read = Read(project)
    try:
        names, outside = _names(runs, bounds)
    except OSError as error:
        read.readable = False
        read.problems.append(message("usage.unreadable", path=runs, what=error.strerror or error))
        return _Folder(read, {})
    read.problems += [message("watch.link_outside", path=path) for path in outside[:TOLD]]
    known = read_kept(runs)
    kept: Kept = {}
    broken: list[str] = []
    fresh = False
    for name in names:
        path = f"{runs}/{name}"
        identifier = name.rpartition("/")[2]
        before = known.get(identifier)
        if before is not None and (before[0] == 0 or before[0] == events_mark(path)):
            kept[identifier] = before
            read.uses.append(before[2].going(now))
            continue
        mark = events_mark(path)
        try:
            use = use_of(RunDirectory(Path(path)), now)
        except HackathonError:
            if os.path.lexists(f"{path}/request.json") or not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
                broken.append(name)
            continue
        except Exception:  # whatever a file has in it that nobody thought of: the other runs do not suffer for it
            broken.append(name)
            continue
        read.uses.append(use)
        if use.closed and not use.odd:
            kept[identifier] = (0 if os.path.lexists(f"{path}/final.json") else mark, False, use)
            fresh = True
    if broken:
        names_shown = ", ".join(broken[:TOLD]) + (" …" if len(broken) > TOLD else "")
        read.problems.append(message("usage.broken", count=len(broken), folder=runs, names=names_shown))
    return _Folder(read, kept, fresh or len(kept) < len(known))


def _names(runs: str, bounds: Bounds) -> tuple[list[str], list[str]]:
    """Return the names of the runs in a folder, and the links among them that lead outside. Raises OSError."""
    if not bounds.allow(runs):
        return [], [runs]
    names, outside = _entries(runs, bounds)
    removed = f"{runs}/{REMOVED}"
    if os.path.isdir(removed) and not os.path.islink(removed):  # noqa: PTH112, PTH114
        known = frozenset(names)
        names += [f"{REMOVED}/{name}" for name in _entries(removed, bounds)[0] if name not in known]
    return names, outside


def _entries(folder: str, bounds: Bounds) -> tuple[list[str], list[str]]:
    names, outside = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name[0] == "." or not entry.name.isprintable():
                continue
            try:
                if not entry.is_dir():
                    continue
            except OSError:
                continue
            if entry.is_symlink() and not bounds.allow(entry.path):
                outside.append(entry.path)
            else:
                names.append(entry.name)
    return sorted(names), sorted(outside)


def _ask(folders: list[_Folder], now: float, load: "Callable[[str], Scheduler] | None") -> list[str]:
    """Put the schedulers' accounts in place of the markers; return what went wrong, in words."""
    from hackathon.schedulers import registry, runner

    problems: list[str] = []
    places: list[tuple[_Folder, int]] = []
    uses: list[RunUse] = []
    for folder in folders:
        for position, use in enumerate(folder.read.uses):
            entry = folder.kept.get(use.id)
            if entry is None or not entry[1]:
                places.append((folder, position))
                uses.append(use)
    for (scheduler, cluster), positions in scheduled(uses).items():
        try:
            found = runner.accounting((load or registry.load)(scheduler), [uses[each].job_id for each in positions])
        except HackathonError as error:
            problems.append(message("usage.no_answer", cluster=cluster, what=error))
            continue
        for each in positions:
            folder, position = places[each]
            account = found.get(uses[each].job_id)
            if account is None:
                continue
            use = folder.read.uses[position] = with_account(uses[each], account, now)
            before = folder.kept.get(use.id)
            if before is not None and not use.state:
                folder.kept[use.id] = (before[0], True, use)
                folder.fresh = True
    return problems
