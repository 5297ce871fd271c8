"""A limit that no row has met yet: a shared server, a full switch, a serial part that begins to count.

No curve through the rows knows it, and in public studies most values outside an interval were slower than it, hardly
any faster. So a share of the distribution lies where a limit would put the cost.
"""

import itertools
import math
from collections.abc import Sequence

from hackathon.prediction.mixture import Component
from hackathon.prediction.rows import MeasuredSize

LIMIT = "limit"
CHANCE = 0.06
"""Of a limit in the next doubling of the processes, in a series that shows none."""
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
    steps = []
    for row, after in itertools.pairwise(rows[-3:]):
        if (row.nodes or 1) == 1 < (after.nodes or 1) or after.processes <= row.processes:
            return None
        steps.append(math.log(after.cost / row.cost) / math.log2(after.processes / row.processes))
    before, last = steps
    return last if last >= NOTICED and last >= before + MORE else None


def limited(
    rows: Sequence[MeasuredSize], size: int, without: float, half_width: float
) -> tuple[float, list[Component]]:
    """Return the chance of a limit up to `size`, and the costs that it would lead to.

    `without`, `half_width`: the logarithm of the cost without, and half of its interval: rows that one curve meets
    exactly leave little room for another. Chances of several doublings add up.
    """
    room = min(1.0, half_width / EXACT)
    doublings = math.log2(size / rows[-1].processes)
    bent = bends(rows)
    if bent is None:
        chance = 1 - (1 - CHANCE) ** doublings
        met = (1 + max(1.0, doublings)) / 2  # it may begin with any of them
        return room * chance, [Component(w, without + loss * met, SPREAD, LIMIT) for loss, w in LOSSES]
    steepest = max(SATURATED, bent)
    start = math.log(rows[-1].cost)
    parts = [
        Component(w, max(without, start + min(bent * times, steepest) * doublings), SPREAD, LIMIT)
        for times, w in STEEPER
    ]
    return room * BENDING, parts
