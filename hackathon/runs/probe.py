"""The small jobs of `hackathon ready`: which runs they are, and which run is meant where none is named."""

from collections.abc import Mapping, Sequence
from typing import Any

from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import HackathonError

TAG, PROGRAM = "ready", "hackathon_ready.py"


def is_probe(record: Mapping[str, Any]) -> bool:
    """Return whether a run's record is that of such a job: it looked at a node, and is no work of the team."""
    tags, command = record.get("tags"), record.get("command")
    return isinstance(tags, list) and TAG in tags and isinstance(command, list) and command[1:] == [PROGRAM]


def newest(runs: Sequence[RunDirectory]) -> RunDirectory | None:
    """Return the first of runs, newest first, that is a team's work; a small job only where there is nothing else."""
    return next((run for run in runs if not _is_probe(run)), next(iter(runs), None))


def _is_probe(run: RunDirectory) -> bool:
    try:
        return is_probe(run.record())
    except HackathonError:  # a broken run is somebody's work
        return False
