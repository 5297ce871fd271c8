"""The runs of a rehearsal: which runs are created, which continue, and when each has shown enough."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hackathon.jobs.plan import Plan
from hackathon.jobs.request import Request
from hackathon.logs.final import MOST_LOGS, final_numbers
from hackathon.logs.metrics import rank_files
from hackathon.logs.patterns import may_take_long
from hackathon.rehearsal.told import STEPS_READ, counted
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.events import job_events
from hackathon.runs.record import REHEARSAL_TAG
from hackathon.runs.source.snapshot import Source
from hackathon.runs.states import RunStatus
from hackathon.text.errors import RequestError
from hackathon.text.json_fields import count_of, text_of

if TYPE_CHECKING:
    from hackathon.jobs.resolve import Sources

SECONDS, STEPS, LEAST_SECONDS = 60, 20, 10.0
"""A rehearsal ends a run after SECONDS, or once it has printed its throughput and STEPS values of a metric.

It runs for at least LEAST_SECONDS.
"""
STARTING = 240
"""Seconds that a program may need until its first value; they are added to the walltime."""
FACT = "rehearsal"
"""File of a run's `client/`: how the rehearsal ended it, and whether its result was displayed."""
KEPT = 24 * 3600.0
"""Seconds for which a rehearsal whose result was not displayed is continued by the next call."""
TELEMETRY = 2
"""Seconds between two samples of the node, so that a minute has more than a few."""


@dataclass(frozen=True)
class RehearsalLimits:
    """When a run has shown enough."""

    seconds: int = SECONDS
    steps: int = STEPS

    @property
    def walltime(self) -> int:
        """Seconds requested from the queue, including the time until the first step."""
        return self.seconds + STARTING


def debug_queue(sources: "Sources") -> str | None:
    """Return the queue that the cluster's profile marks for short tests; None if the user chose a queue."""
    if sources.options.queue is not None or sources.options.reservation is not None:
        return None
    project = sources.project or sources.surrounding
    if project is not None and project.queue is not None and sources.cluster.queues.get(project.queue) is None:
        return None  # the user chose a queue that the profile does not list, for a reason
    return next((name for name, queue in sources.cluster.queues.items() if queue.debug), None)


def usual_counts(request: Request) -> list[int]:
    """Return the default process counts of a rehearsal: 1, and 2 if a node has room for them."""
    one_machine = request.starter == "local"
    return [1, 2] if request.processes_per_node > 1 or one_machine or request.gpus_per_node > 1 else [1]


def shortened(request: Request, limits: RehearsalLimits, longest: int | None) -> Request:
    """Return the study's request, shortened to some minutes for a rehearsal; `longest` is the queue's time limit."""
    walltime = min(limit for limit in (limits.walltime, longest, request.walltime) if limit)
    walltime = max(walltime, min(limits.walltime, longest or limits.walltime))
    return replace(
        request, walltime=walltime, telemetry_seconds=TELEMETRY, stop_before=min(request.stop_before, walltime // 5)
    )


def unfinished(planned: Plan, source: Source, tags: Sequence[str] = (REHEARSAL_TAG,)) -> dict[int, RunDirectory]:
    """Return processes → the run of an earlier call with the same program, job and tags whose result was not displayed.

    That call was interrupted, or its terminal was closed.
    """
    requests = {job.request.processes: job.request for job in planned.jobs}
    runs: dict[int, RunDirectory] = {}
    since = time.time() - KEPT
    for run in find_runs(planned.sources.runs):  # newest first
        if run.created < since:
            break
        record = run.known()
        request = requests.get(record.processes)
        if not record.rehearsal or request is None or record.processes in runs or run.job_id() is None:
            continue
        if set(record.tags) != set(tags):
            continue
        if run.client(FACT).get("told") or text_of(run.files.json("source.json").get("digest")) != source.digest:
            continue
        same = (record.command, record.cluster, record.queue, record.launcher, record.walltime)
        if same == (request.command, request.cluster, request.queue or "", request.launcher, request.walltime):
            runs[record.processes] = run
    return runs


def is_enough(run: RunDirectory, limits: RehearsalLimits, now: float | None = None) -> str:
    """Return why a running job can be ended: `steps`, `seconds` or `silent`; empty while it must continue."""
    started = [float(event["t"]) for event in job_events(run.path) if event.get("event") == "ranks_started"]
    if not started:
        return ""
    seconds = (time.time() if now is None else now) - started[-1]
    if seconds < LEAST_SECONDS:
        return ""
    steps = steps_of(run)
    if steps >= limits.steps and _is_measured(run) and not _may_be_apart(run):
        return "steps"
    if seconds >= limits.seconds and steps and (_prints(run) or _is_measured(run)):
        return "seconds"  # of long steps the recorder times the first ones only later
    return "silent" if seconds >= limits.seconds + STARTING * 3 / 4 else ""


def _is_measured(run: RunDirectory) -> bool:
    """Return whether a run has printed the number by which a study measures it; True, too, if that cannot be checked.

    A throughput may be printed once an epoch while the loss is printed at every step. Patterns that may take long are
    not matched while the program runs.
    """
    record = run.known()
    if any(may_take_long(str(entry.get("pattern") or "")) for entry in record.metrics.values()):
        return True
    try:
        numbers = final_numbers(run.path, record, over=False, most_bytes=MOST_LOGS)
    except RequestError:
        return True
    return numbers.value is not None or not numbers.whole


def _may_be_apart(run: RunDirectory) -> bool:
    """Return whether more recorded steps would tell if the ranks of a group exchange anything while they train."""
    from hackathon.diagnosis.silent.worlds import LONG
    from hackathon.logs.recorded import recordings

    processes = run.known().processes
    ranks = recordings(run.path, processes).values() if processes > 1 else ()
    return any(rank.world == processes and not rank.inside and rank.plain < LONG for rank in ranks)


def steps_of(run: RunDirectory) -> int:
    """Return how many values of its most frequent metric rank 0, or the lowest rank with output, has printed.

    For a program that prints none, return the recorded steps.
    """
    return _prints(run) or count_of(run.files.json("steps/rank-0.json").get("steps"))


def _prints(run: RunDirectory) -> int:
    """Return how many values of its most frequent metric a program has printed, or its Meter has written."""
    metered = rank_files(run.path / "metrics", ".jsonl")
    if metered:
        lines = run.files.text(f"metrics/{metered[0].name}", STEPS_READ)
        return lines.count("\n")
    return counted(run)


def note_end(run: RunDirectory, why: str) -> None:
    """Record that the rehearsal ends a run, and why, before it is ended."""
    run.write_client(FACT, {**run.client(FACT), "ended": why, "t": time.time()})


def note_told(runs: Sequence[RunDirectory]) -> None:
    """Record that the results of these runs were displayed, so that the next rehearsal starts new ones."""
    for run in runs:
        run.write_client(FACT, {**run.client(FACT), "told": True})


def ended_by_us(run: RunDirectory, state: RunStatus) -> str:
    """Return why the rehearsal ended a run, `walltime` if the short walltime did; empty if it ended by itself."""
    why = text_of(run.client(FACT).get("ended"))
    if why and state.state == "CANCELLED":
        return why
    return "walltime" if state.state == "TIMEOUT" else ""
