"""Sets of moments as sorted lists of intervals (begin, end) that neither touch nor overlap. Pure."""

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]
Intervals = list[Interval]


def union(intervals: Iterable[Interval]) -> Intervals:
    """Return the moments that lie in any of some intervals, in whatever order they come; empty ones are dropped."""
    found: Intervals = []
    for begin, end in sorted(each for each in intervals if each[0] < each[1]):
        if found and begin <= found[-1][1]:
            if end > found[-1][1]:
                found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def within(intervals: Sequence[Interval], others: Sequence[Interval]) -> Intervals:
    """Return the moments that lie in both sets."""
    found: Intervals = []
    first = second = 0
    while first < len(intervals) and second < len(others):
        begin = max(intervals[first][0], others[second][0])
        end = min(intervals[first][1], others[second][1])
        if begin < end:
            found.append((begin, end))
        if intervals[first][1] < others[second][1]:
            first += 1
        else:
            second += 1
    return found


def without(intervals: Sequence[Interval], others: Sequence[Interval]) -> Intervals:
    """Return the moments of the first set that do not lie in the second."""
    found: Intervals = []
    second = 0
    for begin, end in intervals:
        while second < len(others) and others[second][1] <= begin:
            second += 1
        number = second
        while number < len(others) and others[number][0] < end:
            if begin < others[number][0]:
                found.append((begin, others[number][0]))
            begin = max(begin, others[number][1])
            number += 1
        if begin < end:
            found.append((begin, end))
    return found


def length(intervals: Iterable[Interval]) -> float:
    """Return how long a set of moments is."""
    return sum(end - begin for begin, end in intervals)


def lengths(intervals: Sequence[Interval], windows: Sequence[Interval]) -> list[float]:
    """Return how much of a set of moments lies in each of some windows, which come in order and do not overlap."""
    found = []
    first = 0
    for begin, end in windows:
        while first < len(intervals) and intervals[first][1] <= begin:
            first += 1
        number, inside = first, 0.0
        while number < len(intervals) and intervals[number][0] < end:
            inside += min(end, intervals[number][1]) - max(begin, intervals[number][0])
            number += 1
        found.append(inside)
    return found
