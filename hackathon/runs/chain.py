"""A chain: runs that start one after another and share checkpoints, to train longer than one walltime.

The `request.json` of each segment lists all segments (`chain`), and its `parent` is the segment before. The job script
reads the same from the file `segment`. It writes `complete` or `failed` into the first segment's folder; a later
segment that finds such a file ends at once, with the event `skipped`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs.directory import RunDirectory, find_runs, new_run_id
from hackathon.runs.events import job_events
from hackathon.runs.markers import read_final
from hackathon.text.errors import HackathonError, RequestError

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.script import JobScript
    from hackathon.runs.source import snapshot


@dataclass(frozen=True)
class Segment:
    """A run's position in its chain."""

    number: int
    """From 1."""
    of: int
    skipped: str = ""
    """Why the program was not started: complete, failed or lost; empty when it was or still can be started."""


def create_chain(
    request: "Request",
    script: "JobScript",
    segments: int,
    *,
    runs_folder: Path,
    source: "snapshot.Source",
    note: str = "",
    tags: Sequence[str] = (),
    facts: dict[str, dict[str, Any]] | None = None,
) -> list[RunDirectory]:
    """Return the runs of a new chain, first segment first; if one cannot be created, none remains.

    `facts`: further files for the first segment's `client/`. Raises the errors of `create`.
    """
    import shutil

    from hackathon.runs.create import create

    now = time.time()  # one second apart, so that the ids sort in the order of the segments
    ids = [new_run_id(request.name, request.processes, now + number) for number in range(segments)]
    runs: list[RunDirectory] = []
    try:
        for number, run_id in enumerate(ids):
            run = create(
                request, script, runs_folder=runs_folder, note=note, tags=tags, source=source, run_id=run_id, chain=ids,
                parent=ids[number - 1] if number else None, facts=None if number else facts,
            )  # fmt: skip
            runs.append(run)
    except HackathonError:
        for run in runs:  # none of them is submitted yet
            shutil.rmtree(run.path, ignore_errors=True)
        raise
    return runs


def chain_of(run: RunDirectory) -> list[RunDirectory]:
    """Return all segments of a run's chain that still exist, in order; only the run itself without a chain."""
    ids = run.record().chain
    if not ids:
        return [run]
    segments = [RunDirectory(run.path.parent / segment_id) for segment_id in ids]
    return [segment for segment in segments if segment == run or (segment.path / "request.json").is_file()]


def dependency(run: RunDirectory) -> tuple[str, str] | None:
    """Return what a segment has to wait for, None for the first segment and for a run without a chain.

    Raises RequestError when the segment before was not submitted.
    """
    runs = chain_of(run)
    number = runs.index(run)
    if number == 0:
        return None
    job_id = runs[number - 1].job_id()
    if job_id is None:
        raise RequestError(
            "segments.before",
            "run {run} continues {before}, which was not submitted yet",
            hint="submit the previous run first with hackathon submit --again",
            run=run.id,
            before=runs[number - 1].id,
        )
    return "any", job_id


def segment_of(run: RunDirectory) -> Segment | None:
    """Return a run's position in its chain, None without a chain (at the cost of opening one file)."""
    try:
        words = (run.path / "segment").read_text().split()
        number, of = int(words[0]), int(words[1])
    except (OSError, ValueError, IndexError):
        return None
    skipped = ""
    for event in job_events(run.path):
        if event.get("event") == "started":
            skipped = ""
        elif event.get("event") == "skipped":
            skipped = str(event.get("why") or "failed")
    return Segment(number, of, skipped)


def is_complete(run: RunDirectory) -> bool:
    """Return whether a segment of the run's chain reached the end of the program."""
    return (chain_of(run)[0].path / "complete").exists()


def speaking(run: RunDirectory) -> RunDirectory:
    """Return the segment with the chain's latest numbers: the last that started the program, else the first."""
    runs = chain_of(run)
    for candidate in reversed(runs):
        segment = segment_of(candidate)
        if candidate.claim() is not None and (segment is None or not segment.skipped):
            return candidate
    return runs[0]


def newest(runs: Sequence[RunDirectory]) -> RunDirectory | None:
    """Return the newest run that is a team's work, or a small job of `hackathon ready` if there is nothing else.

    `runs`: newest first.
    """
    # a broken run counts as a team's work
    return next((run for run in runs if not run.known().probe), next(iter(runs), None))


def latest_run(folder: Path) -> RunDirectory:
    """Return the newest run, or of its chain the segment that runs or ran last. Raises RequestError without runs."""
    run = newest(find_runs(folder))
    if run is None:
        raise RequestError(
            "cli.no_runs",
            "there are no runs in {folder}",
            hint="`hackathon try` starts a short one, `hackathon submit` a whole one",
            folder=folder,
        )
    return speaking(run)


def in_use(run: RunDirectory) -> bool:
    """Return whether a later segment may still need the files in the run's folder."""
    if not (run.path / "segment").exists():
        return False
    return any(read_final(segment) is None for segment in chain_of(run))
