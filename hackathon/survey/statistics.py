"""Numbers of one question: counts, median and quartiles, mean, shares with their intervals. Pure functions."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, median

from hackathon.config.survey import Question
from hackathon.survey.records import ItemSummary, Share, Value

Z = NormalDist().inv_cdf(0.975)
"""1.96: half the width of a 95 % interval, in standard deviations."""


def wilson(count: int, of: int) -> Share:
    """Return a share with its 95 % score interval; 0…1 if `of` is 0.

    Unlike the textbook interval it stays within 0…1 and does not shrink to a point at 0 or all, so it is valid for a
    handful of answers. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927), 209-212.
    """
    if not of:
        return Share(0, 0, 0.0, 1.0)
    share = count / of
    centre = share + Z * Z / (2 * of)
    spread = Z * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    scale = 1 + Z * Z / of
    low = 0.0 if count == 0 else (centre - spread) / scale
    high = 1.0 if count == of else (centre + spread) / scale
    return Share(count, of, low, high)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile of at least one value.

    Linear between the two nearest values in order, ends included: method 7 of Hyndman and Fan ("Sample quantiles in
    statistical packages", The American Statistician 50, 1996), the default of R and NumPy, and QUARTILE.INC of
    spreadsheets.
    """
    ordered = sorted(values)

    def at(share: float) -> float:
        position = share * (len(ordered) - 1)
        below = math.floor(position)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (position - below) * (ordered[above] - ordered[below])

    return at(0.25), at(0.75)


def fits(question: Question, value: Value | None) -> bool:
    """Return whether a value is an answer to a question; other values count as missing."""
    if question.kind == "rating":
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= question.levels
    if question.kind == "choice":
        return isinstance(value, str) and value in question.options
    if question.kind == "choices":
        return isinstance(value, tuple) and bool(value) and all(option in question.options for option in value)
    if question.kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, str) and bool(value.strip())


def item(question: Question, values: Sequence[Value | None]) -> ItemSummary:
    """Return the numbers of one question, from one value per respondent, None for no answer."""
    answers = [value for value in values if value is not None and fits(question, value)]
    missing = len(values) - len(answers)
    if question.kind == "choice":
        counts = tuple(answers.count(option) for option in question.options)
        return ItemSummary(question, len(answers), missing, True, counts)
    if question.kind == "choices":
        chosen = [frozenset(value) for value in answers if isinstance(value, tuple)]
        counts = tuple(sum(option in options for options in chosen) for option in question.options)
        return ItemSummary(question, len(answers), missing, True, counts)
    numbers = [value for value in answers if isinstance(value, int | float)]
    if question.kind == "rating":
        return _rating(question, [int(value) for value in numbers], missing)
    if not numbers:
        return ItemSummary(question, 0, missing, True)
    return ItemSummary(
        # no minimum and maximum, because each is one person's answer
        question, len(numbers), missing, True,
        mean=fmean(numbers), median=float(median(numbers)), quartiles=quartiles(numbers),
    )  # fmt: skip


def middle(levels: int) -> tuple[int, ...]:
    """Return the level in the middle, or the two of an even number of levels."""
    return ((levels + 1) // 2,) if levels % 2 else (levels // 2, levels // 2 + 1)


def ends(levels: int) -> int:
    """Return how many levels are an end: two, but one with fewer than four levels, so that the ends do not meet."""
    return 2 if levels >= 4 else 1


def _rating(question: Question, levels: Sequence[int], missing: int) -> ItemSummary:
    n = len(levels)
    counts = tuple(levels.count(level) for level in range(1, question.levels + 1))
    if not n:
        return ItemSummary(question, 0, missing, True, counts)
    top, bottom = sum(counts[-ends(question.levels) :]), sum(counts[: ends(question.levels)])
    on_target: Share | None = None
    too_low = too_high = 0
    if question.target == "middle":
        centre = middle(question.levels)
        too_low, too_high = sum(counts[: centre[0] - 1]), sum(counts[centre[-1] :])
        on_target = wilson(n - too_low - too_high, n)
    elif question.target:
        on_target = wilson(top if question.target == "high" else bottom, n)
    return ItemSummary(
        question, n, missing, True, counts,
        mean=fmean(levels), median=float(median(levels)), quartiles=quartiles(levels),
        top=wilson(top, n), bottom=wilson(bottom, n), on_target=on_target, too_low=too_low, too_high=too_high,
    )  # fmt: skip
