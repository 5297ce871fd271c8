"""A limit that no row has met yet: a shared server, a full switch, a serial part that begins to count.

No curve through the rows knows it, and in public studies most values outside an interval were slower than it, hardly
any faster. So a share of the distribution lies where a limit would put the cost.
"""

import itertools
import math
from collections.abc import Sequence

from hackathon.prediction.mixture import Component
from hackathon.prediction.rows import STRONG, WEAK, MeasuredSize

LIMIT = "limit"
CHANCE = 0.06
"""Of a limit in the next doubling of the processes, in a series that shows none."""
IN_STRONG = 2
"""How many times as likely it is in strong scaling, where the work of a process shrinks with each doubling: there
twice as many values lay on the slow side of the interval."""
LOSSES = ((0.05, 0.35), (0.09, 0.35), (0.2, 0.2), (0.45, 0.1))
"""Logarithm of the cost that such a limit adds to each doubling, and its weight."""
BENDING = 0.3
"""Chance of one where each doubling loses more than the doubling before."""
STEEPER = ((1.5, 0.4), (3.0, 0.35), (6.0, 0.25))
"""How many times the last doubling's loss the next one's is then, and its weight."""
NOTICED, MORE = 0.03, 0.01
"""Loss of the last doubling, and its growth over the one before, from which on a series bends (logarithms)."""
SATURATED = math.log(2)
"""Loss of a doubling where the rate does not grow any more; a rate that falls loses more."""
GOING_ON = {WEAK: 0.15, STRONG: 0.3}
"""Weight of a loss that goes on as it began, beside the curves. Of 0 to 0.3, whole sources counting alike: with 0.1
intervals of weak scaling still missed a quarter of AdaptDL's programs, with more than 0.15 they were only wider."""
EXPLAINED = 0.08
"""Half of an interval (logarithm) below which that weight shrinks with it: about what three ordinary rows leave. More
rows that one curve explains leave less room for another."""
SHARES = {
    WEAK: ((-0.2, 0.15), (0.0, 0.2), (0.15, 0.25), (0.5, 0.2), (1.25, 0.2)),
    STRONG: ((-0.1, 0.1), (0.1, 0.15), (0.65, 0.3), (1.1, 0.25), (1.5, 0.2)),
}
"""Share of the whole loss so far (logarithms) that the next doubling lost, and its weight: quantiles over the public
studies of `tests/bench/bench_predict.py`, AdaptDL's traces and three ARCHER notebooks, each source counting alike."""
EXACT = 0.02
"""Half of an interval (logarithm) below which the chance of a limit shrinks with it."""
SPREAD = 0.03
"""Standard deviation of the components."""


def bends(rows: Sequence[MeasuredSize]) -> float | None:
    """Return the loss of the last doubling (logarithm of the cost) of a series whose losses grow; None for others.

    A step from one node to several is no sign: it happens once.
    """
    if len(rows) < 3:
        return None
    before, last = (_step(row, after) for row, after in itertools.pairwise(rows[-3:]))
    if before is None or last is None:
        return None
    return last if last >= NOTICED and last >= before + MORE else None


def _step(row: MeasuredSize, after: MeasuredSize) -> float | None:
    """Return what each doubling lost between two rows; None from one node to several, and for one size twice."""
    if (row.nodes or 1) == 1 < (after.nodes or 1) or after.processes <= row.processes:
        return None
    return math.log(after.cost / row.cost) / math.log2(after.processes / row.processes)


def limited(
    rows: Sequence[MeasuredSize], size: int, mode: str, without: float, half_width: float
) -> tuple[float, list[Component]]:
    """Return the chance of a limit up to `size`, and the costs that it would lead to.

    `without`, `half_width`: the logarithm of the cost without, and half of its interval: rows that one curve meets
    exactly leave little room for another. Chances of several doublings add up.
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
    """Return the costs up to `size` when each doubling loses a share of what the rows have lost so far."""
    last = rows[-1]
    lost = math.log(last.cost / min(row.cost for row in rows))
    doublings = math.log2(size / last.processes)
    shares = SHARES[STRONG if mode == STRONG else WEAK]
    before = _step(rows[-2], last) if len(rows) > 1 else None
    steepest = max(SATURATED, STEEPER[0][0] * (before or 0.0))  # the rate stands still, or falls faster than it did
    return [
        Component(w, math.log(last.cost) + min(share * lost, steepest) * doublings, SPREAD, LIMIT)
        for share, w in shares
    ]
