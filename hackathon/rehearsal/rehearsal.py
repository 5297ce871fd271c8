"""The runs of a rehearsal: which are made, which go on, and when each has shown enough."""

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
from hackathon.text.json_fields import text_of

if TYPE_CHECKING:
    from hackathon.jobs.resolve import Sources

SECONDS, STEPS, LEAST_SECONDS = 60, 20, 10.0
"""A run is ended after so many seconds, or once it has told its throughput and so many values of a metric.

It has at least LEAST_SECONDS.
"""
STARTING = 240
"""Seconds that a program may take until its first value: the walltime is so much longer than what is asked for."""
FACT = "rehearsal"
"""File of a run's `client/`: how the rehearsal ended it, and whether it was told about."""
KEPT = 24 * 3600.0
"""Seconds for which a rehearsal that nobody was told about is gone on with."""
TELEMETRY = 2
"""Seconds between two looks at the node: a minute shall hold more than a few."""


@dataclass(frozen=True)
class RehearsalLimits:
    """When a run has shown enough."""

    seconds: int = SECONDS
    steps: int = STEPS

    @property
    def walltime(self) -> int:
        """Seconds that are asked of the queue: programs need time until their first step."""
        return self.seconds + STARTING


def debug_queue(sources: "Sources") -> str | None:
    """Return the queue that the cluster's profile marks for short tests, where no queue was asked for by hand."""
    if sources.options.queue is not None or sources.options.reservation is not None:
        return None
    project = sources.project or sources.surrounding
    if project is not None and project.queue is not None and sources.cluster.queues.get(project.queue) is None:
        return None  # a queue that the profile does not know was chosen for a reason
    return next((name for name, queue in sources.cluster.queues.items() if queue.debug), None)


def usual_counts(request: Request) -> list[int]:
    """Return the process counts of a rehearsal where none are asked for: 1, and 2 where a node has room for them."""
    one_machine = request.starter == "local"
    return [1, 2] if request.processes_per_node > 1 or one_machine or request.gpus_per_node > 1 else [1]


def shortened(request: Request, limits: RehearsalLimits, longest: int | None) -> Request:
    """Return the request of a rehearsal's run: as the study's, for some minutes; `longest`: what the queue allows."""
    walltime = min(limit for limit in (limits.walltime, longest, request.walltime) if limit)
    walltime = max(walltime, min(limits.walltime, longest or limits.walltime))
    return replace(
        request, walltime=walltime, telemetry_seconds=TELEMETRY, stop_before=min(request.stop_before, walltime // 5)
    )


def unfinished(planned: Plan, source: Source, tags: Sequence[str] = (REHEARSAL_TAG,)) -> dict[int, RunDirectory]:
    """Return processes → the run of an earlier call whose result nobody has seen: same program, same job, these tags.

    That call was interrupted, or its terminal is gone.
    """
    requests = {job.request.processes: job.request for job in planned.jobs}
    runs: dict[int, RunDirectory] = {}
    since = time.time() - KEPT
    for run in find_runs(planned.sources.runs):  # the newest first
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
    """Return why a running job can be ended: `steps`, `seconds` or `silent`; empty while it shall go on."""
    started = [float(event["t"]) for event in job_events(run.path) if event.get("event") == "ranks_started"]
    if not started:
        return ""
    seconds = (time.time() if now is None else now) - started[-1]
    if seconds < LEAST_SECONDS:
        return ""
    steps = steps_of(run)
    if steps >= limits.steps and _is_measured(run):
        return "steps"
    if seconds >= limits.seconds and steps:
        return "seconds"
    return "silent" if seconds >= limits.seconds + STARTING * 3 / 4 else ""


def _is_measured(run: RunDirectory) -> bool:
    """Return whether a run has told the number that a study measures it by; True, too, where that cannot be seen.

    A throughput may come once an epoch, where the loss comes with every step. Patterns that may take long are not
    looked for while the program runs.
    """
    record = run.known()
    if any(may_take_long(str(entry.get("pattern") or "")) for entry in record.metrics.values()):
        return True
    try:
        numbers = final_numbers(run.path, record, over=False, most_bytes=MOST_LOGS)
    except RequestError:
        return True
    return numbers.value is not None or not numbers.whole


def steps_of(run: RunDirectory) -> int:
    """Return how many values of its most frequent metric rank 0, or the lowest that speaks, has told so far."""
    metered = rank_files(run.path / "metrics", ".jsonl")
    if metered:
        lines = run.files.text(f"metrics/{metered[0].name}", STEPS_READ)
        return lines.count("\n")
    return counted(run)


def note_end(run: RunDirectory, why: str) -> None:
    """Write down that the rehearsal ends a run, and why, before it is done."""
    run.write_client(FACT, {**run.client(FACT), "ended": why, "t": time.time()})


def note_told(runs: Sequence[RunDirectory]) -> None:
    """Write down that the results of these runs were shown: the next rehearsal is a new one."""
    for run in runs:
        run.write_client(FACT, {**run.client(FACT), "told": True})


def ended_by_us(run: RunDirectory, state: RunStatus) -> str:
    """Return why the rehearsal ended a run, `walltime` where its short walltime did; empty where it ended by itself."""
    why = text_of(run.client(FACT).get("ended"))
    if why and state.state == "CANCELLED":
        return why
    return "walltime" if state.state == "TIMEOUT" else ""
