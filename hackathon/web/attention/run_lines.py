"""A run with the actions that the viewer may take."""

import os

from hackathon.board.people import People
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of
from hackathon.runs.states import OPEN
from hackathon.web.attention.records import RunLine
from hackathon.web.views.board import line
from hackathon.web.views.trouble import age, since


def run_line(run: RunEntry, people: People, now: float, kind: str = "failed") -> RunLine:
    """Return a run as a page offers it to the account of the server; `kind`: its trouble, one of trouble.KINDS."""
    return RunLine(
        run=key_of(run.project, run.id),
        run_id=line(run.id),
        name=line(run.name),
        person=line(people.name(run.user)) if run.user else "",
        state=run.state,
        processes=run.processes,
        age=age(now, since(kind, run)),
        own=run.use is not None and run.use.user == os.geteuid(),
        going=run.state in OPEN,
        project=line(run.project),
    )


def line_of(source: Catalog, key: str) -> RunLine | None:
    """Return the run of a key; None if it does not exist."""
    run = source.find(key)
    return run_line(run, People(source.event), source.now) if run is not None else None
