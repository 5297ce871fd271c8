"""Find the run that a request for help is about."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory

LOOKED_AT = 20
"""Number of newest runs that are considered."""


def run_in_trouble(runs_folder: Path) -> "RunDirectory | None":
    """Return the newest failed run, else the newest run; None if there are no runs.

    A small job of `hackathon ready` only counts if it failed or is the only run. The scheduler is not asked: a person
    who asks for help has seen the failure, or has a run that hangs.
    """
    from hackathon.runs.chain import newest
    from hackathon.runs.directory import find_runs
    from hackathon.runs.states import ENDED, SUCCEEDED
    from hackathon.runs.status import status

    runs = find_runs(runs_folder)[:LOOKED_AT]
    states = status(runs, ask=False)
    failed = [run for run, state in zip(runs, states, strict=True) if state.state in ENDED - {SUCCEEDED}]
    return next(iter(failed), newest(runs))
