"""Use the losses of other studies for sizes that this one has not measured: the memory of a cluster."""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hackathon.prediction.flags import flags, good_rows
from hackathon.prediction.mixture import Component, scaled
from hackathon.prediction.rows import MeasuredSize, Series

HISTORY = "history"
MODEL, FRAMEWORK, LOSS = 6.0, 1.0, 0.05
"""Logarithms of the weight of a study with the same words in its model's name and with the same framework; loss scale.

A study's weight falls to 37 % over the third value, the difference of the losses inside a node.
"""
NOISE, PART = 0.012, 0.2
"""Standard deviation of a loss that was measured elsewhere, and the share of the loss itself that is added."""
BEYOND = 2.0
"""Factor of the deviation when the other study ends earlier and its last step is extrapolated."""
OWN = (0.95, 0.5, 0.25, 0.1)
"""Weight of memory by the number of own rows beyond the first full node."""
_WORD = re.compile(r"[^\W_]+(?:[.-]\w+)*")


@dataclass(frozen=True)
class Recollection:
    """The other studies' result for one size."""

    components: tuple[Component, ...]
    studies: tuple[str, ...]
    """Names, the most similar first."""


def recall(
    own: Series, rows: Sequence[MeasuredSize], anchor: MeasuredSize, target: MeasuredSize, studies: Sequence[Series]
) -> Recollection | None:
    """Return the cost at `target` by other studies' loss from the size of `anchor`, an own row; None without any.

    Studies of another cluster or mode, and this study itself, are omitted. A study is weighted by the words that its
    model's name shares with this one's, its framework and its loss inside a node.
    """
    entries: list[tuple[float, Component, str]] = []
    for other in studies:
        if _stranger(own, other):
            continue
        their = good_rows(other, flags(other))
        loss = _loss(their, anchor, target)
        if loss is None:
            continue
        value, reached = loss
        deviation = math.hypot(NOISE, PART * value) * (1.0 if reached else BEYOND)
        weight = _kinship(own, other) - _difference(rows, their)
        name = other.name or other.kin.model or ""
        entries.append((weight, Component(0.0, math.log(anchor.cost) + value, deviation, HISTORY), name))
    if not entries:
        return None
    entries.sort(key=lambda entry: -entry[0])
    top = entries[0][0]
    parts = [Component(math.exp(w - top), part.log_cost, part.deviation, HISTORY) for w, part, _ in entries]
    return Recollection(tuple(scaled(parts)), tuple(name for _, _, name in entries))


def _stranger(own: Series, other: Series) -> bool:
    """Return whether a study is not comparable: another cluster or mode, or this very study."""
    if own.kin.cluster and other.kin.cluster and _plain(own.kin.cluster) != _plain(other.kin.cluster):
        return True
    if own.mode != other.mode:
        return True
    mine = {(row.processes, row.rate) for row in own.rows}
    return mine <= {(row.processes, row.rate) for row in other.rows}


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _kinship(own: Series, other: Series) -> float:
    """Return the logarithm of a study's weight by names; a series without a model uses its own name."""
    words = [set(_WORD.findall((study.kin.model or study.name or "").casefold())) for study in (own, other)]
    both = words[0] | words[1]
    shared = len(words[0] & words[1]) / len(both) if both else 0.0
    same = bool(own.kin.framework) and _plain(own.kin.framework) == _plain(other.kin.framework)
    return MODEL * shared + FRAMEWORK * same


def _difference(rows: Sequence[MeasuredSize], their: Sequence[MeasuredSize]) -> float:
    """Return the difference of the losses inside one node, in units of LOSS; 0 when either is unknown."""
    losses = [_inside(sizes) for sizes in (rows, their)]
    if losses[0] is None or losses[1] is None:
        return 0.0
    return min(6.0, abs(losses[0] - losses[1]) / LOSS)


def _inside(rows: Sequence[MeasuredSize]) -> float | None:
    inside = [row for row in rows if row.nodes == 1]
    return math.log(inside[-1].cost / inside[0].cost) if len(inside) > 1 else None


def _loss(rows: Sequence[MeasuredSize], anchor: MeasuredSize, target: MeasuredSize) -> tuple[float, bool] | None:
    """Return the logarithm of the cost at `target` over that at `anchor`, and whether the study reaches it."""
    placed = bool(anchor.nodes and target.nodes) and all(row.nodes for row in rows)
    if placed:
        fullest = max(row.processes / (row.nodes or 1) for row in rows)
        rows = [row for row in rows if row.processes / (row.nodes or 1) == fullest]
        line = [(math.log(row.nodes or 1), math.log(row.cost)) for row in rows]
        start, end = math.log(anchor.nodes or 1), math.log(target.nodes or 1)
    elif anchor.nodes or target.nodes:
        return None
    else:
        best: dict[int, float] = {}  # one size may have been measured on few nodes and on many
        for row in rows:
            best[row.processes] = min(row.cost, best.get(row.processes, math.inf))
        line = [(math.log(processes), math.log(cost)) for processes, cost in best.items()]
        start, end = math.log(anchor.processes), math.log(target.processes)
    if len(line) < 2 or line[0][0] > start + 1e-9 or line[-1][0] <= start + 1e-9:
        return None
    reached = line[-1][0] >= end - 1e-9
    return _at(line, end) - _at(line, start), reached


def _at(line: Sequence[tuple[float, float]], x: float) -> float:
    """Return the height of a line at x; beyond its end its last part is extrapolated, without falling."""
    for (x0, y0), (x1, y1) in itertools.pairwise(line):
        if x <= x1 + 1e-9:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    (x0, y0), (x1, y1) = line[-2:]
    return y1 + max(0.0, (y1 - y0) / (x1 - x0)) * (x - x1)
