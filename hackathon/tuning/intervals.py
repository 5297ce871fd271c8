"""Decide whether pairs of measurements differ: the median of their ratios with a distribution-free interval.

The interval is between two order statistics (the interval of the sign test, e.g. Conover, Practical Nonparametric
Statistics, 3rd ed., section 3.2). It is valid for any noise. The order within a round is random, so that without an
effect each ratio is as likely above 1 as below, whatever else the machine does meanwhile.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

FALSE_CLAIMS = 0.05
"""Probability that a table without any effect claims one, in either direction; Bonferroni divides it by its rows."""


@dataclass(frozen=True)
class Ratio:
    """How much faster one setting is than another."""

    pairs: int
    middle: float
    """The median of the ratios."""
    low: float
    """0 with too few pairs for an interval."""
    high: float
    """Infinite with too few pairs."""

    @property
    def claim(self) -> str:
        """`faster` or `slower` beyond the noise, else `none`; `few` when so few pairs allow no claim."""
        if math.isinf(self.high):
            return "few"
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "none"


def pairs_needed(rows: int) -> int:
    """Return the fewest pairs with which a table of so many rows can claim anything.

    All of n signs agree by chance with probability 2·2^−n.
    """
    return math.ceil(math.log2(2 * max(1, rows) / FALSE_CLAIMS))


def ratio_of(ratios: Sequence[float], rows: int) -> Ratio:
    """Return the median of paired ratios and its interval, for one of `rows` rows of a table.

    Raises ValueError without any ratio.
    """
    ordered = sorted(ratios)
    count, most = len(ordered), FALSE_CLAIMS / max(1, rows)
    outside, passed = 0.0, -1
    for number in range(count // 2):  # probability that at most so many signs differ from all others, on both sides
        outside += 2 * math.comb(count, number) / 2**count
        if outside > most:
            break
        passed = number
    if passed < 0:
        return Ratio(count, median(ordered), 0.0, math.inf)
    return Ratio(count, median(ordered), ordered[passed], ordered[count - 1 - passed])
