"""A tuning study on disk as `hackathon tune` leaves it, with the curve of each trial as its Meter wrote it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.jobs.settings import point_key
from hackathon.runs.create import create
from hackathon.runs.directory import new_run_id
from hackathon.runs.study import TUNE, Point, Study, add_trial, create_study, reserve
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.tuner import TAG
from support.runs import SCRIPT, append_line, project, request, sealed, write

T = 1_790_000_000.0
"""Seconds since 1970 at which the first trial begins."""
STEP = 10.0
"""Seconds between two values of a curve."""


@dataclass(frozen=True)
class RecordedTrial:
    """What is written of one trial."""

    settings: Mapping[str, Any]
    curve: Sequence[float]
    stopped: float | None = None
    """The probability with which a rule stopped it; None: it came to its end."""


def recorded_study(
    folder: Path, plan: TuningPlan, trials: Sequence[RecordedTrial], *, name: str = "digits", number: int = 0,
    options: Mapping[str, Any] | None = None, **changes: Any,
) -> Study:  # fmt: skip
    """Return a study in a project's folder; `number` makes later ones later, `changes` are of all requests."""
    base = request(project(folder), name=name, walltime=3600, **changes)
    metric = plan.objective.metric
    begin = T + 86400 * number
    study = create_study(
        folder, name, mode="", metric=metric, unit="", points=(), base_request=base, now=begin, kind=TUNE,
        options={"tags": [TAG], "tune": plan.to_json(), "requests": {}, **(options or {})},
    )  # fmt: skip
    for count, each in enumerate(trials, 1):
        parameters = {**base.parameters, **each.settings}
        asked = request(folder, name=name, walltime=3600, **{**changes, "parameters": parameters})
        point = Point(1, 1, key=point_key(1, each.settings), settings=dict(each.settings))
        assert add_trial(study, count, point, asked, {"sampler": plan.sampler})
        run_id = new_run_id(name, 1, begin + count)
        assert reserve(study, point, run_id)
        run = create(
            asked, SCRIPT, runs_folder=folder / "runs", run_id=run_id, tags=[TAG], study=point.to_json(study.id)
        )
        start = begin + 100 * count
        (run.path / "metrics").mkdir(exist_ok=True)
        for step, value in enumerate(each.curve, 1):
            line = {"t": start + STEP * step, "attempt": 1, "step": step, metric: value}
            append_line(run.path / "metrics" / "rank-0.jsonl", line)
        end = start + STEP * len(each.curve) + 1
        if each.stopped is None:
            append_line(run.path / "metrics" / "rank-0.jsonl", {"t": end, "final": True, metric: each.curve[-1]})
        if each.stopped is not None:
            fact = {"t": end, "why": "rule", "rule": plan.stopper, "probability": each.stopped}
            write(run.path / "client" / "trial.json", fact)
        write(run.path / "final.json", sealed(start, end))
    return Study(study.path)
