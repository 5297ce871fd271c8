"""Curves over the runs of a chain and the attempts of a requeued run, as for one uninterrupted training."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.logs.metrics import series
from hackathon.runs.events import job_events
from hackathon.text.numbers import integer


def joined_series(runs: Sequence[Path]) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of consecutive runs of one training: metric name → (step, value).

    If a later run, or a later attempt of one, repeats steps, because it started from an earlier checkpoint, its values
    count. The program must count its steps over the whole training (`meter.step(step=…)`): if each run's meter begins
    at 1, only the last run's curve remains.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for attempt in _attempts(run):
            for name, points in series(run, attempt).items():
                first = points[0][0]
                curves[name] = [point for point in curves.get(name, []) if point[0] < first] + points
    return curves


def _attempts(run: Path) -> list[int | None]:
    """Return the attempts of a run that was requeued; None, the newest one, for others."""
    started = {integer(event.get("attempt")) for event in job_events(run) if event.get("event") == "started"}
    attempts = sorted(started - {None})  # type: ignore[type-var]
    return [*attempts] if len(attempts) > 1 else [None]
