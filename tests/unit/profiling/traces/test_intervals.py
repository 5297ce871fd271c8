"""Sets of moments against sets of whole numbers, which Python knows how to join, cut and take away."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hackathon.profiling.traces.intervals import Intervals, length, lengths, union, within, without

raw = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


def moments(intervals: list[tuple[int, int]] | Intervals) -> set[int]:
    return {moment for begin, end in intervals for moment in range(int(begin), int(end))}


def normal(intervals: Intervals) -> bool:
    return all(begin < end for begin, end in intervals) and all(
        first[1] < second[0] for first, second in pairwise(intervals)
    )


@given(raw)
def test_union_keeps_exactly_the_moments(intervals: list[tuple[int, int]]) -> None:
    assert moments(union(intervals)) == moments(intervals) and normal(union(intervals))


@given(raw, raw)
def test_cutting_and_taking_away_are_those_of_sets(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    one, other = union(first), union(second)
    assert moments(within(one, other)) == moments(first) & moments(second)
    assert moments(without(one, other)) == moments(first) - moments(second)
    assert length(within(one, other)) + length(without(one, other)) == length(one)


@given(raw, st.lists(st.integers(0, 60), min_size=2, max_size=6, unique=True))
def test_lengths_in_windows_add_up(intervals: list[tuple[int, int]], cuts: list[int]) -> None:
    edges = sorted(cuts)
    windows = list(pairwise(edges))
    assert lengths(union(intervals), windows) == [
        len(moments(intervals) & set(range(begin, end))) for begin, end in windows
    ]
