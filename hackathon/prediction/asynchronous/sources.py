"""Find the run of one worker for a prediction, and runs with the same settings and several workers."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.index.record import RunEntry
from hackathon.prediction.asynchronous.outlook import MeasuredRun, OneWorker
from hackathon.prediction.asynchronous.timings import missing, timings_of
from hackathon.prediction.study import gathered
from hackathon.runs.states import SUCCEEDED
from hackathon.text.errors import RequestError

WORKERS = "workers"
SAME = ("batch_size", "gradient_bytes", "staleness_bound", "planted_compute", "planted_update", "planted_jitter")
"""Numbers that runs with the same settings have in common."""
RESULTS = ("sweep_seconds", "mini_batch", "staleness")


def one_worker(project: Path, name: str | None) -> OneWorker:
    """Return a run's data: the only one whose id contains `name`, else the newest one of one worker.

    Raises RequestError when there is none, or when it is not a run of one worker with timings.
    """
    runs = [run for run in gathered(project).summaries if not run.probe and not run.rehearsal and not run.removed]
    own = [run for run in runs if run.project == str(project)]
    run = _newest(own) if name is None else _named(own, runs, name)
    numbers = dict(run.numbers)
    if run.state != SUCCEEDED:
        raise RequestError(
            "asynchronous.not_succeeded",
            "not known: run {run} did not succeed ({state})",
            hint="Take a run that succeeded, or start one: hackathon submit async-sgd --processes 1",
            run=run.id,
            state=run.state,
        )
    if numbers.get(WORKERS, run.processes) != 1:
        raise RequestError(
            "asynchronous.several_workers",
            "run {run} has {workers} workers, which wait for each other's exchanges; its times are not those "
            "of one worker",
            hint="Take a run of one worker: hackathon submit async-sgd --processes 1",
            run=run.id,
            workers=run.processes,
        )
    lacks = missing(numbers)
    if lacks:
        raise RequestError(
            "asynchronous.not_known",
            "not known: run {run} did not tell {missing}",
            hint="The recipe async-sgd tells them at its end. Training must be longer than its warm-up of ten "
            "gradients.",
            run=run.id,
            missing=", ".join(lacks),
        )
    return OneWorker(
        run.id, timings_of(numbers), max(1.0, numbers.get("most_gradients", 1.0)), tuple(_measured(run, runs))
    )


def _newest(own: Sequence[RunEntry]) -> RunEntry:
    """Return the newest run of one worker with timings."""
    for run in own:
        numbers = dict(run.numbers)
        if run.state == SUCCEEDED and numbers.get(WORKERS) == 1 and not missing(numbers):
            return run
    raise RequestError(
        "asynchronous.no_run",
        "not known: this project has no successful run of one worker that told its timings",
        hint="This run would tell: hackathon submit async-sgd --processes 1",
    )


def _named(own: Sequence[RunEntry], runs: Sequence[RunEntry], name: str) -> RunEntry:
    for some in (own, runs):
        matches = [run for run in some if name in run.id]
        exact = [run for run in matches if run.id == name]
        if len(exact or matches) == 1:
            return (exact or matches)[0]
        if matches:
            raise RequestError(
                "asynchronous.several_runs",
                "{name} is part of the ids of {count} runs",
                hint="Give more of the id.",
                name=name,
                count=len(matches),
            )
    raise RequestError(
        "asynchronous.no_such_run", "no run has {name} in its id", hint="`hackathon status` lists the runs.", name=name
    )


def _measured(run: RunEntry, runs: Sequence[RunEntry]) -> list[MeasuredRun]:
    """Return measurements of the same program and settings on the same cluster with several workers."""
    mine = dict(run.numbers)
    measurements = []
    for other in runs:
        numbers = dict(other.numbers)
        workers = numbers.get(WORKERS)
        if other.state != SUCCEEDED or other.name != run.name or other.cluster != run.cluster or workers is None:
            continue
        if not 1 < workers < 1e6 or any(numbers.get(key) != mine.get(key) for key in SAME):
            continue
        values = [numbers.get(key, -1.0) for key in RESULTS]
        if all(0 <= value < 1e12 for value in values):
            measurements.append(MeasuredRun(int(workers), *values))
    return measurements
