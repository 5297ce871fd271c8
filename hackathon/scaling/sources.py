"""Choose the source of a study's throughput and its scaling mode: the recorder's counts decide. Pure."""

import json
from collections.abc import Sequence

from hackathon.logs.final import RECORDED, STEPS, THROUGHPUTS
from hackathon.logs.recorded import APART, contradicts
from hackathon.scaling.doubts import work_doubt
from hackathon.scaling.table import RunResult

PRINTED = "printed"
"""The numbers come from the program: it printed them, or its Meter wrote them."""


def throughput_source(name: str, runs: Sequence[RunResult]) -> tuple[str, str]:
    """Return the metric of a study's throughput and its source, PRINTED or RECORDED; `runs`: the successful ones.

    All points have the same source: `name` (the study's metric) if all runs printed it and no recorder contradicts it,
    else the first metric that all recorders counted, else the printed one. Of printed steps, those far faster than the
    recorded ones are not believed: a program may time a part of its steps only.
    """
    printed = all(name in run.metrics and run.metrics[name] != run.recorded.get(name) for run in runs)
    if not runs or (printed and name != STEPS and not any(contradicted(run, name) for run in runs)):
        return name, PRINTED
    for candidate in THROUGHPUTS:
        if candidate == STEPS and printed and not any(_is_partial(run) for run in runs):
            break
        if all(candidate in run.recorded for run in runs):
            return candidate, RECORDED
    return name, PRINTED


def _is_partial(run: RunResult) -> bool:
    """Return whether the printed steps of a run are far faster than the recorded ones."""
    recorded = run.recorded.get(STEPS)
    return bool(recorded) and run.metrics.get(STEPS, 0.0) > APART * (recorded or 0.0)


def contradicted(run: RunResult, name: str) -> bool:
    """Return whether the printed throughput of a run is far above the recorded one."""
    return contradicts(name, run.metrics.get(name), run.recorded.get(name))


def measured_mode(asked: str, runs: Sequence[RunResult]) -> str:
    """Return `weak` or `strong` according to the samples of a step at each size, else the requested mode.

    The requested mode stays if a run does not record its samples, or if they fit neither mode.
    """
    groups: dict[str, list[RunResult]] = {}
    for run in runs:
        if run.status == "SUCCEEDED" and run.processes > 0:
            groups.setdefault(json.dumps(dict(run.settings), sort_keys=True), []).append(run)
    fits = {"weak", "strong"}
    compared = False
    for group in groups.values():
        base = min(group, key=lambda run: run.processes)
        for run in group:
            if not run.work or not base.work:
                return asked
            if run.processes > base.processes:
                compared = True
                fits = {
                    mode
                    for mode in fits
                    if work_doubt(mode, run.processes, run.work, base.processes, base.work) is None
                }
    return fits.pop() if asked and compared and len(fits) == 1 else asked
