"""The small jobs of `hackathon ready`: recognise them, and choose the default run among others."""

from collections.abc import Sequence

from hackathon.runs.directory import RunDirectory


def newest(runs: Sequence[RunDirectory]) -> RunDirectory | None:
    """Return the newest run that is a team's work, or a small job if there is nothing else.

    `runs`: newest first.
    """
    # a broken run counts as a team's work
    return next((run for run in runs if not run.known().probe), next(iter(runs), None))
