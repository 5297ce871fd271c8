"""Curves over the runs of a chain, as for one uninterrupted training."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.logs.metrics import series


def joined_series(runs: Sequence[Path]) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of consecutive runs of one training: metric name → (step, value).

    If a later run repeats steps, because it started from an earlier checkpoint, its values count. The program must
    count its steps over the whole training (`meter.step(step=…)`): if each run's meter begins at 1, only the last run's
    curve remains.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for name, points in series(run).items():
            first = points[0][0]
            curves[name] = [point for point in curves.get(name, []) if point[0] < first] + points
    return curves
