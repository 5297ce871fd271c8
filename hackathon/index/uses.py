"""The use of runs, from the index's file, from the runs themselves, and from schedulers' accounting.

The index stores it separately from the data of pages, so that a budget check before a submission reads only this part.
A sealed run never changes and is read once. A run that ended and is not sealed is read again only when the file of its
job's events changes, because a requeue writes in it.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.index.listing import Listing, mark
from hackathon.index.load import load_of
from hackathon.index.projects import Bounds, Containment, ProjectFolder
from hackathon.index.record import key_of
from hackathon.index.store import RunStore, UseRow, default_path
from hackathon.runs.directory import RunDirectory
from hackathon.runs.job_times import use_of, with_account, with_account_of, with_missed_of
from hackathon.runs.lives import RunUse, scheduled
from hackathon.runs.load import RunLoad
from hackathon.schedulers.reports import Charge, JobAccounting
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler

FORM = "4"
"""The format of a stored use; a use in another format is read again from the run."""
LISTED_ONE_BY_ONE = 5
"""Problems of one kind in a folder that are listed one by one."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A run that counts as used time, and its project."""

    project: ProjectFolder
    use: RunUse

    @property
    def key(self) -> str:
        """The run's key in the index."""
        return key_of(str(self.project.path), self.use.id)


@dataclass
class ProjectUses:
    """The use of one project's runs."""

    project: ProjectFolder
    uses: list[RunUse] = field(default_factory=list)
    readable: bool = True
    """False when its folder of runs cannot be listed."""
    problems: list[str] = field(default_factory=list)
    """Problems, in the current language."""

    @property
    def counted(self) -> list[Counted]:
        """Its runs as pairs with their project."""
        return [Counted(self.project, use) for use in self.uses]


@dataclass
class _Folder:
    found: ProjectUses
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Run's id → its path and the mark of its events, for stored uses."""
    rows: list[UseRow] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)


def read_uses(
    projects: Sequence[ProjectFolder],
    bounds: Bounds,
    *,
    now: float,
    ask: bool = False,
    load: "Callable[[str], Scheduler] | None" = None,
    index: Path | None = None,
) -> tuple[list[ProjectUses], list[str]]:
    """Return the use of the runs of each project, and the problems of the schedulers that were asked.

    Nothing is written in a run's folder. With `ask`, schedulers are asked in batches for the accounting of all runs
    without a stored one; `load` finds a scheduler by name (by default in the registry). `index`: the index's file, by
    default this user's.
    """
    store = RunStore(index if index is not None else default_path())
    try:
        rows: dict[str, dict[str, tuple[int, str]]] = {str(project.path): {} for project in projects}
        for project, subfolder, mark, text in store.load_uses(rows, FORM):
            rows[project][subfolder] = mark, text
        folders = [_read_folder(project, bounds.of(project.team), now, rows[str(project.path)]) for project in projects]
        problems = _ask(folders, load) if ask else []
        store.write([], [], [row for folder in folders for row in folder.rows],
                    [key for folder in folders for key in folder.gone])  # fmt: skip
    finally:
        store.close()
    return [folder.found for folder in folders], problems


def row_of(project: str, subfolder: str, mark: int, use: RunUse) -> UseRow:
    """Return a run's use as a row of the index's file."""
    account = use.account if use.asked else None  # an account whose charge still grows is requested again
    value: list[Any] = [
        use.cluster, use.scheduler, use.job_id, use.team, use.user, use.nodes, use.gpus_per_node,
        use.gpus_wanted, use.walltime, use.created, use.queue, use.adopted, use.removed, use.state, use.sealed,
        use.attempts, use.said, use.missed, use.waiting, use.size_odd,
        None if account is None else [account.whole, [[c.start, c.end, c.seconds, c.nodes, c.gpus, c.name]
                                                      for c in account.charges]], use.asked, use.doubt,
        None if use.load is None else use.load.to_values(),
    ]  # fmt: skip
    return project, subfolder, FORM, mark, json.dumps(value, separators=(",", ":"))


def use_in(subfolder: str, text: str) -> RunUse | None:
    """Return the use in a stored row; None if the row is incomplete."""
    try:
        *plain, attempts, ends, missed, waiting, odd, account, was_asked, doubt, load = json.loads(text)
        accounting = (
            None if account is None else JobAccounting(tuple(Charge(*charge) for charge in account[1]), account[0])
        )
        values = [
            *plain, tuple([(begin, end) for begin, end in attempts]), None if ends is None else (ends[0], ends[1]),
            missed, waiting, odd, accounting, was_asked, None if doubt is None else (doubt[0], doubt[1]),
            None if load is None else RunLoad.from_values(load),
        ]  # fmt: skip
        return RunUse(subfolder.rpartition("/")[2], *values)
    except (ValueError, TypeError, IndexError):
        return None


def _read_folder(
    project: ProjectFolder, bounds: Containment, now: float, stored: dict[str, tuple[int, str]]
) -> _Folder:
    runs = f"{project.path}/runs"
    folder = _Folder(ProjectUses(project))
    folder_uses = folder.found
    if not bounds.allow(runs):
        folder_uses.problems.append(bounds.refusal(runs))
        return folder
    listing = Listing(runs, stored)
    listing.look(bounds, time.monotonic())
    if listing.closed:
        folder_uses.readable = False
        folder_uses.problems.append(_("{path}: {what}; its runs are not counted", path=runs, what=listing.closed))
        return folder
    folder_uses.problems += listing.outside[:LISTED_ONE_BY_ONE]
    broken = list(listing.unreadable)
    for identifier, subfolder in sorted(listing.names.items()):
        path = f"{runs}/{subfolder}"
        stored_mark, text = stored.get(subfolder, (-1, ""))
        before = use_in(subfolder, text) if text else None
        if before is not None and before.closed and (before.sealed or stored_mark == events_mark(path)):
            folder_uses.uses.append(before)
            folder.places[identifier] = subfolder, stored_mark
            continue
        fresh = events_mark(path)
        try:
            run = RunDirectory(Path(path))
            with run.held():
                use = use_of(run, now)
                use = replace(use, load=load_of(run, use, before))
        except HackathonError:
            if os.path.lexists(f"{path}/request.json") or not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
                broken.append(identifier)
            continue
        except Exception:  # a file may contain anything, and the other runs must not suffer
            broken.append(identifier)
            continue
        if before is not None:
            use = with_missed_of(with_account_of(use, before), before)
        folder_uses.uses.append(use)
        folder.places[identifier] = subfolder, fresh
        if use.closed:
            folder.rows.append(row_of(str(project.path), subfolder, fresh, use))
    present = set(listing.names.values())
    folder.gone = [(str(project.path), subfolder) for subfolder in stored if subfolder not in present]
    if broken:
        names = ", ".join(broken[:LISTED_ONE_BY_ONE]) + (" …" if len(broken) > LISTED_ONE_BY_ONE else "")
        folder_uses.problems.append(
            ngettext(
                "{folder}: {count} run cannot be read and is not counted: {names}",
                "{folder}: {count} runs cannot be read and are not counted: {names}",
                len(broken),
                count=len(broken),
                folder=runs,
                names=names,
            )
        )
    return folder


def events_mark(run: str) -> int:
    """Return a number that changes with the run's events; 0 if there are none."""
    return mark(f"{run}/events/job.jsonl")


def _ask(folders: list[_Folder], load: "Callable[[str], Scheduler] | None") -> list[str]:
    """Replace the markers with the schedulers' accounting; return the problems."""
    from hackathon.schedulers import registry, runner

    problems: list[str] = []
    open_ones = [
        (folder, position) for folder in folders for position, use in enumerate(folder.found.uses) if not use.asked
    ]
    uses = [folder.found.uses[position] for folder, position in open_ones]
    for (name, cluster), positions in scheduled(uses).items():
        # the newest run represents all
        folder, position = open_ones[max(positions, key=lambda number: uses[number].id)]
        newest = f"{folder.found.project.path}/runs/{folder.places[folder.found.uses[position].id][0]}"
        try:
            scheduler = load(name) if load else registry.load(name, RunDirectory(Path(newest)).record().dialect)
            answer = runner.accounting(scheduler, [uses[number].job_id for number in positions])
        except HackathonError as error:
            problems.append(
                _(
                    "{cluster}: the scheduler's accounting is not available; counted from the runs' own "
                    "records. {what}",
                    cluster=cluster,
                    what=error,
                )
            )
            continue
        for number in positions:
            account = answer.get(uses[number].job_id)
            if account is None:
                continue
            folder, position = open_ones[number]
            project = str(folder.found.project.path)
            run = RunDirectory(Path(project, "runs", folder.places[uses[number].id][0]))
            try:
                use = folder.found.uses[position] = with_account(uses[number], run, account)
            except OSError:
                continue  # it was deleted at this moment
            if use.asked:
                folder.rows.append(row_of(project, *folder.places[use.id], use))
    return problems
