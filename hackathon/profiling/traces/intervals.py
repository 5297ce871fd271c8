"""Sets of times as sorted lists of intervals (begin, end) that neither touch nor overlap. Pure."""

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]
Intervals = list[Interval]


def union(intervals: Iterable[Interval]) -> Intervals:
    """Return the union of intervals in any order; empty ones are dropped."""
    moments: Intervals = []
    for begin, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if moments and begin <= moments[-1][1]:
            if end > moments[-1][1]:
                moments[-1] = moments[-1][0], end
        else:
            moments.append((begin, end))
    return moments


def within(intervals: Sequence[Interval], windows: Sequence[Interval]) -> Intervals:
    """Return the intersection of both sets."""
    moments: Intervals = []
    first = second = 0
    while first < len(intervals) and second < len(windows):
        begin = max(intervals[first][0], windows[second][0])
        end = min(intervals[first][1], windows[second][1])
        if begin < end:
            moments.append((begin, end))
        if intervals[first][1] < windows[second][1]:
            first += 1
        else:
            second += 1
    return moments


def without(intervals: Sequence[Interval], excluded: Sequence[Interval]) -> Intervals:
    """Return the first set without the second."""
    moments: Intervals = []
    second = 0
    for begin, end in intervals:
        while second < len(excluded) and excluded[second][1] <= begin:
            second += 1
        number = second
        while number < len(excluded) and excluded[number][0] < end:
            if begin < excluded[number][0]:
                moments.append((begin, excluded[number][0]))
            begin = max(begin, excluded[number][1])
            number += 1
        if begin < end:
            moments.append((begin, end))
    return moments


def length(intervals: Iterable[Interval]) -> float:
    """Return the total length of a set."""
    return sum(end - begin for begin, end in intervals)


def lengths(intervals: Sequence[Interval], windows: Sequence[Interval]) -> list[float]:
    """Return the length of a set within each of some sorted windows that do not overlap."""
    sums = []
    first = 0
    for begin, end in windows:
        while first < len(intervals) and intervals[first][1] <= begin:
            first += 1
        number, inside = first, 0.0
        while number < len(intervals) and intervals[number][0] < end:
            inside += min(end, intervals[number][1]) - max(begin, intervals[number][0])
            number += 1
        sums.append(inside)
    return sums
