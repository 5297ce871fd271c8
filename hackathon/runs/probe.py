"""The small jobs of `hackathon ready`: which runs they are, and which run is meant where none is named."""

from collections.abc import Sequence

from hackathon.runs.directory import RunDirectory


def newest(runs: Sequence[RunDirectory]) -> RunDirectory | None:
    """Return the first of runs, newest first, that is a team's work; a small job only where there is nothing else."""
    # a broken run is somebody's work
    return next((run for run in runs if not run.known().probe), next(iter(runs), None))
