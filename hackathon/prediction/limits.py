"""A limit that no row has reached yet: a shared server, a full switch, a serial part that begins to count.

A curve through the rows does not show it. In public studies most values outside an interval were slower, hardly any
faster. So a part of the distribution is where a limit would put the cost.
"""

import itertools
import math
from collections.abc import Sequence

from hackathon.prediction.mixture import Component
from hackathon.prediction.rows import STRONG, WEAK, MeasuredSize

LIMIT = "limit"
CHANCE = 0.06
"""Chance of a limit in the next doubling of the processes, in a series without signs of one."""
IN_STRONG = 2
"""Factor of the chance in strong scaling, where the work of a process shrinks with each doubling.

Twice as many values were on the slow side of the interval there.
"""
LOSSES = ((0.05, 0.35), (0.09, 0.35), (0.2, 0.2), (0.45, 0.1))
"""Logarithm of the cost that such a limit adds to each doubling, and its weight."""
BENDING = 0.3
"""Chance of a limit if each doubling loses more than the doubling before."""
STEEPER = ((1.5, 0.4), (3.0, 0.35), (6.0, 0.25))
"""Factor of the next doubling's loss over the last one's in that case, and its weight."""
NOTICED, MORE = 0.03, 0.01
"""Loss of the last doubling, and its growth over the one before, from which a series bends (logarithms)."""
SATURATED = math.log(2)
"""Loss of a doubling without growth of the rate; a falling rate loses more."""
GOING_ON = {WEAK: 0.15, STRONG: 0.3}
"""Weight of a loss that continues as it began, beside the curves. Chosen from 0 to 0.3, with equal weight per source.

With 0.1, intervals of weak scaling still missed a quarter of AdaptDL's programs; above 0.15 they were only wider.
"""
EXPLAINED = 0.08
"""Half of an interval (logarithm) below which that weight shrinks with it: about that of three ordinary rows.

More rows on one curve leave less room for another.
"""
SHARES = {
    WEAK: ((-0.2, 0.15), (0.0, 0.2), (0.15, 0.25), (0.5, 0.2), (1.25, 0.2)),
    STRONG: ((-0.1, 0.1), (0.1, 0.15), (0.65, 0.3), (1.1, 0.25), (1.5, 0.2)),
}
"""Share of the whole loss so far (logarithms) that the next doubling lost, and its weight.

Quantiles over the public studies of `tests/bench/bench_predict.py`, AdaptDL's traces and three ARCHER notebooks, with
equal weight per source.
"""
EXACT = 0.02
"""Half of an interval (logarithm) below which the chance of a limit shrinks with it."""
SPREAD = 0.03
"""Standard deviation of the components."""


def bends(rows: Sequence[MeasuredSize]) -> float | None:
    """Return the loss of the last doubling (logarithm of the cost) of a series with growing losses; else None.

    A step from one node to several does not count: it happens once.
    """
    if len(rows) < 3:
        return None
    before, last = (_step(row, after) for row, after in itertools.pairwise(rows[-3:]))
    if before is None or last is None:
        return None
    return last if last >= NOTICED and last >= before + MORE else None


def _step(row: MeasuredSize, after: MeasuredSize) -> float | None:
    """Return the loss per doubling between two rows; None from one node to several, and for equal sizes."""
    if (row.nodes or 1) == 1 < (after.nodes or 1) or after.processes <= row.processes:
        return None
    return math.log(after.cost / row.cost) / math.log2(after.processes / row.processes)


def limited(
    rows: Sequence[MeasuredSize], size: int, mode: str, without: float, half_width: float
) -> tuple[float, list[Component]]:
    """Return the chance of a limit up to `size`, and the resulting costs.

    `without`, `half_width`: the logarithm of the cost without a limit, and half of its interval: rows exactly on one
    curve leave little room for another. Chances of several doublings add up.
    """
    room = min(1.0, half_width / EXACT)
    doublings = math.log2(size / rows[-1].processes)
    bent = bends(rows)
    if bent is None:
        chance = 1 - (1 - CHANCE) ** (doublings * (IN_STRONG if mode == STRONG else 1))
        met = (1 + max(1.0, doublings)) / 2  # it may begin with any of them
        return room * chance, [Component(w, without + loss * met, SPREAD, LIMIT) for loss, w in LOSSES]
    steepest = max(SATURATED, bent)
    start = math.log(rows[-1].cost)
    parts = [
        Component(w, max(without, start + min(bent * times, steepest) * doublings), SPREAD, LIMIT)
        for times, w in STEEPER
    ]
    return room * BENDING, parts


def going_on(rows: Sequence[MeasuredSize], size: int, mode: str) -> list[Component]:
    """Return the costs up to `size` if each doubling loses a share of the rows' loss so far."""
    last = rows[-1]
    lost = math.log(last.cost / min(row.cost for row in rows))
    doublings = math.log2(size / last.processes)
    shares = SHARES[STRONG if mode == STRONG else WEAK]
    before = _step(rows[-2], last) if len(rows) > 1 else None
    steepest = max(SATURATED, STEEPER[0][0] * (before or 0.0))  # the rate is constant, or falls faster than before
    return [
        Component(w, math.log(last.cost) + min(share * lost, steepest) * doublings, SPREAD, LIMIT)
        for share, w in shares
    ]
