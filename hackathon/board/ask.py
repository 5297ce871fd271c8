"""Which run a request for help is about."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory

LOOKED_AT = 20
"""Newest runs that are looked at."""


def run_in_trouble(runs_folder: Path) -> "RunDirectory | None":
    """Return the newest run that failed, else the newest one; None when there are no runs. A small job of
    `hackathon ready` only counts when it failed, or is all there is.

    The scheduler is not asked: who asks for help has seen the failure, or has a run that hangs.
    """
    from hackathon.runs.directory import find_runs
    from hackathon.runs.probe import newest
    from hackathon.runs.states import ENDED, SUCCEEDED
    from hackathon.runs.status import status

    runs = find_runs(runs_folder)[:LOOKED_AT]
    states = status(runs, ask=False)
    failed = [run for run, state in zip(runs, states, strict=True) if state.state in ENDED - {SUCCEEDED}]
    return next(iter(failed), newest(runs))
