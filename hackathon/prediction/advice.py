"""Recommend sizes: the largest above the target efficiency, and the one with the cheapest results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.prediction.outlook import outlook
from hackathon.prediction.physics import Physics
from hackathon.prediction.rows import MeasuredSize, Series
from hackathon.scaling.table import TARGET

MOST = 24
"""Sizes that are considered, doublings from the smallest on."""


@dataclass(frozen=True)
class AdvisedSizes:
    """Two sizes among those up to the largest requested one."""

    largest: tuple[int, float] | None
    """Processes and efficiency of the largest size above TARGET; None without one."""
    cheapest: tuple[int, float]
    """Processes and efficiency of the size with the lowest cost per unit of work; known nodes are charged in full."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `advice` in the JSON of a prediction."""
        pairs = {"largest": self.largest, "cheapest": self.cheapest}
        sizes = {key: pair and {"processes": pair[0], "efficiency": pair[1]} for key, pair in pairs.items()}
        return {"target": TARGET, **sizes}


def advice(
    series: Series, rows: Sequence[MeasuredSize], candidates: Sequence[int], studies: Sequence[Series] = (),
    physics: Physics | None = None,
) -> AdvisedSizes:  # fmt: skip
    """Return the recommended sizes among the requested ones, the measured ones and doublings up to the largest.

    `rows`: those that count.
    """
    per_node = series.per_node
    sizes = {*candidates, *(row.processes for row in rows)}
    step, top = per_node or rows[0].processes, max(sizes)
    sizes |= {step << power for power in range(MOST) if step << power <= top}
    left_out = {row.processes for row in series.rows} - {row.processes for row in rows}
    costs = {
        size: math.exp(outlook(series, rows, size, studies, physics).log_cost)
        for size in sorted(sizes)
        if size >= rows[0].processes and size not in left_out
    }
    costs = costs or {rows[0].processes: rows[0].cost}
    efficiencies = {size: rows[0].cost / cost for size, cost in costs.items()}
    good = [size for size, efficiency in efficiencies.items() if efficiency >= TARGET]

    def paid(size: int) -> float:
        occupied = math.ceil(size / per_node) * per_node if per_node else size
        return costs[size] * occupied / size

    cheapest = min(costs, key=lambda size: (round(math.log(paid(size)), 6), size))
    return AdvisedSizes((good[-1], efficiencies[good[-1]]) if good else None, (cheapest, efficiencies[cheapest]))
