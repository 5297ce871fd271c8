"""Read the input of a site: an event's or a project's runs, through the same index as the dashboard."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.trust import event_that_counts, trusted_event
from hackathon.index.catalog import Catalog, doubles_of
from hackathon.index.diagnoser import Examiner
from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder, bounds_of, find_projects
from hackathon.index.record import RunEntry, parts_of
from hackathon.index.studies import run_key
from hackathon.runs.directory import meant, pick
from hackathon.runs.states import CANCELLED, ENDED, SUCCEEDED
from hackathon.runs.status import status
from hackathon.text.errors import HackathonError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.config.event import Event

MOST, PATIENCE = 200, 60.0
"""The most failures that are diagnosed, newest first, and seconds for all of them; the others have no cause."""
SHARE, LEAST = 5.0, 5.0
"""Seconds of diagnoses after which another project comes first; and the shortest time limit of one diagnosis."""


def gather(
    event_folder: Path | None,
    event: "Event | None",
    folders: Sequence[Path] = (),
    *,
    ask: bool = True,
    index: Path | None = None,
    diagnose: bool = True,
) -> Catalog:
    """Return the catalog of all runs of an event, or of the projects in `folders`.

    Nothing is written in a run's folder. Schedulers are asked once, about runs that have not ended, unless `ask` is
    False. `index`: its file, by default this user's. `diagnose`: find the causes of failures without a diagnosis.
    """
    projects, problems = find_projects(event_folder, event, folders, strays=[])
    if event is None:  # a project alone: the folder itself, not the folders below it
        projects = [ProjectFolder(folder.absolute()) for folder in folders]
    runs_index = Index(projects, index, bounds_of(event_folder, event, folders))
    try:
        runs_index.refresh()
        problems += runs_index.outside
        questions = runs_index.asked_about() if ask else []
        if questions:
            states = status([run for _, run in questions], ask=True, write=False, seen=runs_index.seen)
            runs_index.refresh({key: state for (key, _), state in zip(questions, states, strict=True)})
        if diagnose:
            problems += _diagnose(runs_index, rules_of(event_folder))
        return Catalog(
            summaries=runs_index.summaries,
            unseen=runs_index.unseen,
            projects=[project for project in projects if project.shown],
            event=event,
            event_folder=event_folder,
            now=time.time(),
            problems=problems,
            doubles=doubles_of((*runs_index.summaries, *runs_index.unseen)),
        )
    finally:
        runs_index.close()


def all_runs(
    event_folder: Path | None, event: "Event | None", folders: Sequence[Path] = (), *, index: Path | None = None
) -> tuple[RunEntry, ...]:
    """Return all runs with their numbers and their use: a table for fitting models, in one call.

    Displayed runs come first, newest first; then those that only count, cleaned up (`removed`) or in no team's folder.
    No scheduler is asked and nothing is diagnosed. `index`: its file, by default this user's.
    """
    return gather(event_folder, event, folders, ask=False, index=index, diagnose=False).entries


def find_entry(text: str, project: Path) -> RunEntry | None:
    """Return the run that a part of an id identifies, among those of the event around a project; None if there is none.

    Without an event, or if its file is invalid, among those of the project alone. Raises RequestError if several match.
    """
    event = None
    with contextlib.suppress(HackathonError):
        event = trusted_event(project)
    entries = all_runs(event.folder if event else None, event.record if event else None, [project])
    names = [entry.id for entry in entries]
    name = pick(text, names, "run", project) if meant(text, names) else ""
    return next((entry for entry in entries if entry.id == name), None)


def rules_of(event_folder: Path | None) -> list[Path]:
    """Return the event's folder if its rules count; those of another account's event count once the user trusts it."""
    return [event_folder] if event_folder is not None and _counts(event_folder) else []


def _counts(folder: Path) -> bool:
    return event_that_counts(folder) == folder.absolute()


def _diagnose(index: Index, folders: Sequence[Path]) -> list[str]:
    """Diagnose failures without a cause, store the results in the index, and return the problems."""
    over = frozenset(ENDED) - {SUCCEEDED, CANCELLED}
    failed = [key for run in index.summaries if run.state in over and not index.examined(key := run_key(run))][:MOST]
    waiting: dict[str, list[str]] = {}
    for key in reversed(failed):
        waiting.setdefault(parts_of(key)[0], []).append(key)
    spent = dict.fromkeys(waiting, 0.0)
    problems: dict[str, None] = {}
    examiner, until = Examiner(), time.monotonic() + PATIENCE
    try:
        while waiting and (left := until - (begin := time.monotonic())) > 0:
            # a project with endless logs or slow rules must not delay the others
            project = min(waiting, key=lambda name: spent[name] // SHARE)
            key = waiting[project].pop()
            if not waiting[project]:
                del waiting[project]
            state, identifier = index.state_of(key), parts_of(key)[1]
            if state is None:
                continue
            path, rules = Path(project) / "runs" / identifier, [Path(project), *folders]
            cause = examiner.cause(path, state, rules, failed=True, timeout=max(left / 2, LEAST))
            spent[project] += time.monotonic() - begin
            if examiner.slow:
                problems[
                    _(
                        "failure rules took too long on a run of {project} and were left out: {rules}",
                        project=project,
                        rules=", ".join(examiner.slow),
                    )
                ] = None
            if cause is not None:
                index.attach(key, cause, index.about(key))
            else:
                problems[
                    _(
                        "the diagnosis of {run} in {project} took too long or failed, so no cause is shown",
                        run=identifier,
                        project=project,
                    )
                ] = None
    finally:
        examiner.stop()
        examiner.rest()
    return list(problems)
