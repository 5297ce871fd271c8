"""Curves over the runs of a chain, as if training had never been cut."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.logs.metrics import series


def joined_series(runs: Sequence[Path]) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of run directories that go on where the former one was cut: metric name → (step, value).

    Where a later one repeats steps, since it began at a checkpoint before the cut, its values count. The program has to
    count its steps over the whole training (`meter.step(step=…)`): with a meter that begins at 1 in every run, only
    the last one's curve would be left.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for name, points in series(run).items():
            first = points[0][0]
            curves[name] = [point for point in curves.get(name, []) if point[0] < first] + points
    return curves
