"""Detect implausible rows without a model: processes ÷ rate must not fall with more processes."""

import itertools
import math
from collections.abc import Sequence

from hackathon.prediction.rows import Flag, MeasuredSize, Series

FALL = 0.04
"""Tolerated fall of the cost of one unit of work from one size to the next, without better data from repeats."""
SIGMAS, REPEATS, LEAST = 3.0, 3, 0.01
"""With so many repeats of both rows their noise decides: so many standard deviations, and at least this share."""
SUPER_LINEAR = 0.05
"""How far above one an efficiency must be to be reported."""
GROWTH = 0.10
"""Normal rise of the cost per doubling: from ROWS rows on it separates a slow row from a fast next one."""
ROWS = 4
OUTLIERS = ("slow", "fast")
"""Kinds of flags whose rows are not used."""


def flags(series: Series) -> list[Flag]:
    """Return the flags of the rows of a series, smallest first.

    Where the cost falls by more than the noise, a row whose removal alone corrects it is the outlier, `slow` or `fast`;
    if that is the smallest row, the larger ones are `superlinear`. If both rows do, the outlier is the one whose
    removal leaves a normal rise while the other's does not. Else both are `inconsistent`: one of them is wrong. A cost
    that falls from the smallest size on, more than once, is super-linear, not wrong.
    """
    rows = list(series.rows)
    marks = list(series.duplicates)
    falls = _falls(rows)
    outlier: int | None = None
    steadily = len(falls) > 1 and falls == list(range(len(falls)))  # the cost falls from the smallest size on
    if falls and not steadily:
        mending = [number for number in range(len(rows)) if not _falls(rows[:number] + rows[number + 1 :])]
        if len(mending) == 2 and len(rows) >= ROWS:
            mending = [n for n in mending if _rise(rows, mending, n) <= GROWTH] if _told(rows, mending) else mending
        if len(mending) == 1:
            outlier = mending[0] or None
        else:
            named = mending or sorted({number for fall in falls for number in (fall, fall + 1)})
            marks += [Flag(rows[n].processes, "inconsistent", _deviation(rows, n)) for n in named]
    if outlier is not None:
        size = _deviation(rows, outlier)
        marks.append(Flag(rows[outlier].processes, OUTLIERS[size > 0], size))
        rows.pop(outlier)
    if not rows:
        return marks
    named_rows = {flag.processes for flag in marks if flag.kind == "inconsistent"}
    base = rows[0]
    for before, row in itertools.pairwise(rows):
        excess = base.cost / row.cost - 1
        if excess > max(SUPER_LINEAR, _allowed(base, row)) and row.processes not in named_rows:
            marks.append(Flag(row.processes, "superlinear", excess))
        if row.rate < before.rate * (1 - _allowed(before, row)):
            marks.append(Flag(row.processes, "retrograde", row.rate / before.rate - 1))
    return sorted(marks, key=lambda flag: flag.processes)


def good_rows(series: Series, marks: Sequence[Flag]) -> tuple[MeasuredSize, ...]:
    """Return the rows that are not outliers."""
    bad = outliers(marks)
    return tuple(row for row in series.rows if row.processes not in bad)


def outliers(marks: Sequence[Flag]) -> frozenset[int]:
    """Return the sizes whose rows are outliers."""
    return frozenset(flag.processes for flag in marks if flag.kind in OUTLIERS)


def _allowed(first: MeasuredSize, second: MeasuredSize) -> float:
    """Return the tolerated relative difference of two rows."""
    if first.deviation is None or second.deviation is None or min(first.repeats, second.repeats) < REPEATS:
        return FALL
    noise = math.hypot(first.deviation / math.sqrt(first.repeats), second.deviation / math.sqrt(second.repeats))
    return max(LEAST, SIGMAS * noise)


def _falls(rows: Sequence[MeasuredSize]) -> list[int]:
    """Return the rows after which the cost falls."""
    return [
        number
        for number, (row, after) in enumerate(itertools.pairwise(rows))
        if after.processes > row.processes and after.cost < row.cost * (1 - _allowed(row, after))
    ]


def _told(rows: Sequence[MeasuredSize], pair: Sequence[int]) -> bool:
    """Return whether the remaining rise identifies the outlier of two rows: normal without exactly one of them."""
    return sum(_rise(rows, pair, number) <= GROWTH for number in pair) == 1


def _rise(rows: Sequence[MeasuredSize], pair: Sequence[int], removed: int) -> float:
    """Return the largest rise of the cost per doubling around a pair of rows when one of them is removed."""
    near = [n for n in range(min(pair) - 1, max(pair) + 2) if 0 <= n < len(rows) and n != removed]
    steps = itertools.pairwise(near)
    return max((_slope(rows[a], rows[b]) for a, b in steps), default=0.0)


def _slope(row: MeasuredSize, after: MeasuredSize) -> float:
    doublings = math.log2(after.processes / row.processes)
    return float((after.cost / row.cost) ** (1 / doublings) - 1) if doublings > 0 else 0.0


def _deviation(rows: Sequence[MeasuredSize], number: int) -> float:
    """Return the relative deviation of a row's rate from its neighbours."""
    before = rows[number - 1] if number else None
    after = rows[number + 1] if number + 1 < len(rows) else None
    row = rows[number]
    if before is None or after is None or after.processes == before.processes:
        near = before or after
        return near.cost / row.cost - 1 if near is not None else 0.0
    share = math.log(row.processes / before.processes) / math.log(after.processes / before.processes)
    expected = (1 - share) * math.log(before.cost) + share * math.log(after.cost)
    return math.exp(expected) / row.cost - 1
