"""Find the measurement that would narrow a prediction most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.prediction.outlook import Outlook, outlook
from hackathon.prediction.physics import Physics
from hackathon.prediction.rows import MeasuredSize, Series

SECONDS = 300
"""Seconds of one run: after the first minute rates change little."""
WORTH = 0.15
"""Share by which a run must narrow the interval to be recommended."""
NEARLY = 0.8
"""A cheaper run is chosen if it has this share of the best one's effect."""
OUTCOMES = (0.25, 0.75)
"""Quantiles of the cost that a run is assumed to measure: the resulting width is their mean."""


@dataclass(frozen=True)
class NextRun:
    """A recommended run."""

    processes: int
    nodes: int | None
    half_width_before: float
    half_width_after: float

    def to_json(self) -> dict[str, Any]:
        """Return the run as in the JSON of a prediction."""
        return {
            "processes": self.processes, "nodes": self.nodes, "seconds": SECONDS,
            "half_width_before": self.half_width_before, "half_width_after": self.half_width_after,
        }  # fmt: skip


def half_width(look: Outlook) -> float:
    """Return half of the interval of 90 % relative to the value."""
    low, high = look.bounds
    return (math.exp(high - look.log_cost) - math.exp(low - look.log_cost)) / 2


def next_run(
    series: Series, rows: Sequence[MeasuredSize], size: int, studies: Sequence[Series] = (),
    physics: Physics | None = None,
) -> NextRun | None:  # fmt: skip
    """Return the run below `size` that narrows the interval there most; None if none is worthwhile."""
    before = half_width(outlook(series, rows, size, studies, physics))
    runs = []
    for processes, nodes in _sizes(series, rows, size):
        expected = outlook(series, rows, processes, studies, physics)
        widths = []
        for share in OUTCOMES:
            cost = math.exp(expected.quantile(share))
            more = sorted(
                [*rows, MeasuredSize(processes, processes / cost, nodes)],
                key=lambda row: (row.processes, row.nodes or 0),
            )
            widths.append(half_width(outlook(replace(series, rows=tuple(more)), more, size, studies, physics)))
        runs.append(NextRun(processes, nodes, before, sum(widths) / len(widths)))
    best = min((run.half_width_after for run in runs), default=before)
    if before - best < WORTH * before:
        return None
    return next(run for run in runs if before - run.half_width_after >= NEARLY * (before - best))


def _sizes(series: Series, rows: Sequence[MeasuredSize], size: int) -> list[tuple[int, int | None]]:
    """Return measurable sizes, the cheapest first: doublings of a full node, else of the largest row."""
    done = {row.processes for row in series.rows}
    unit = series.per_node
    sizes: list[tuple[int, int | None]] = []
    step = unit or rows[0].processes
    while step < size:
        if step not in done:
            sizes.append((step, math.ceil(step / unit) if unit else None))
        step *= 2
    return sizes
