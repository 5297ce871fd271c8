"""Read what a site is made from: an event's or a project's runs, through the same index as the dashboard's."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.runs.states import CANCELLED, ENDED, SUCCEEDED
from hackathon.runs.status import status
from hackathon.share.places import Project, bounds_of, find_projects
from hackathon.web.examine import Examiner
from hackathon.web.grouping import run_key
from hackathon.web.index import Index
from hackathon.web.records import parts_of
from hackathon.web.source import Source

if TYPE_CHECKING:
    from hackathon.config.event import Event

MOST, PATIENCE = 200, 60.0
"""Failures that are diagnosed at most, the newest ones, and seconds for all of them; the rest stays without a cause."""


def gather(
    event_folder: Path | None,
    event: "Event | None",
    folders: Sequence[Path] = (),
    *,
    ask: bool = True,
    index: Path | None = None,
    diagnose: bool = True,
) -> Source:
    """Return the source of all runs of an event, or of the projects in `folders`.

    Nothing is written in any run's folder. Schedulers are asked once, about runs that go on, unless `ask` is False.
    `index`: its file, default this user's. `diagnose`: find the causes of failures that nobody has looked at.
    """
    projects, problems = find_projects(event_folder, event, folders)
    if event is None:  # a project alone: the folder itself, not what lies below
        projects = [Project(folder.absolute()) for folder in folders]
    found = Index(projects, index, bounds_of(event_folder, event, folders))
    try:
        found.refresh()
        asked = found.asked_about() if ask else []
        if asked:
            states = status([run for _, run in asked], ask=True, write=False, seen=found.seen)
            found.refresh({key: state for (key, _), state in zip(asked, states, strict=True)})
        if diagnose:
            _diagnose(found, [event_folder] if event_folder is not None else [])
        return Source(
            summaries=found.summaries,
            projects=projects,
            event=event,
            event_folder=event_folder,
            now=time.time(),
            problems=problems,
        )
    finally:
        found.close()


def _diagnose(index: Index, folders: Sequence[Path]) -> None:
    """Diagnose failures that have no cause yet, and keep what is found in the index."""
    over = frozenset(ENDED) - {SUCCEEDED, CANCELLED}
    failed = [key for run in index.summaries if run.state in over and not index.examined(key := run_key(run))][:MOST]
    examiner, until = Examiner(), time.monotonic() + PATIENCE
    try:
        for key in failed:
            state = index.state_of(key)
            if state is None or time.monotonic() > until:
                continue
            project, identifier = parts_of(key)
            rules = [Path(project), *folders]
            cause = examiner.cause(Path(project) / "runs" / identifier, state, rules, failed=True)
            if cause is not None:
                index.attach(key, cause, index.about(key))
    finally:
        examiner.stop()
        examiner.rest()
