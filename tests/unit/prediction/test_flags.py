"""Rows that cannot be true: found where they are planted, and nowhere else."""

import random

import pytest

from hackathon.prediction.flags import flags, good_rows
from hackathon.prediction.rows import MeasuredValue, Series, series


def made(efficiencies: dict[int, float], mode: str = "weak") -> Series:
    return series("x", mode, "img/s", [MeasuredValue(p, 100 * p * e) for p, e in efficiencies.items()])


def kinds(found: Series) -> list[tuple[int, str]]:
    return [(flag.processes, flag.kind) for flag in flags(found)]


def test_a_slow_row_is_found_and_not_used() -> None:
    found = made({1: 1.0, 2: 0.79, 4: 0.949, 8: 0.936})
    (flag,) = flags(found)
    assert (flag.processes, flag.kind) == (2, "slow") and flag.size == pytest.approx(0.79 / 0.974 - 1, abs=0.01)
    assert [row.processes for row in good_rows(found, flags(found))] == [1, 4, 8]


def test_a_fast_row_is_found() -> None:
    assert kinds(made({1: 1.0, 2: 0.98, 4: 1.15, 8: 0.93})) == [(4, "fast")]
    assert kinds(made({1: 1.0, 2: 0.98, 4: 0.95, 8: 1.2})) == [(8, "fast")]


def test_two_rows_of_which_either_may_be_wrong_are_inconsistent() -> None:
    assert kinds(made({1: 1.0, 2: 0.8, 4: 1.0})) == [(2, "inconsistent"), (4, "inconsistent")]


def test_slower_with_more_nodes_is_retrograde_and_no_outlier() -> None:
    found = made({1: 1.0, 2: 0.9, 4: 0.7, 8: 0.3, 16: 0.12})
    assert kinds(found) == [(8, "retrograde"), (16, "retrograde")]
    assert len(good_rows(found, flags(found))) == 5


def test_faster_than_linear_from_the_smallest_size_on_is_super_linear() -> None:
    assert kinds(made({16: 1.0, 64: 1.11, 256: 1.09, 512: 1.06})) == [
        (64, "superlinear"), (256, "superlinear"), (512, "superlinear"),
    ]  # fmt: skip
    assert kinds(made({1: 1.0, 2: 1.05, 4: 1.12, 8: 1.13})) == [(4, "superlinear"), (8, "superlinear")]


def test_repeats_say_how_far_a_row_may_fall() -> None:
    def noisy(spread: float) -> Series:
        values = [
            MeasuredValue(p, p * e * (1 + spread * k), repeat=str(k))
            for p, e in {1: 1.0, 2: 0.9, 4: 0.97, 8: 0.96}.items() for k in (-1, 0, 1)
        ]  # fmt: skip
        return series("x", "weak", "img/s", values)

    assert kinds(noisy(0.002)) == [(2, "slow")]
    assert kinds(noisy(0.08)) == []


def efficiencies(draw: random.Random, noise: float) -> dict[int, float]:
    """A series whose efficiency falls by less than 10 % for each doubling."""
    count, at, found = draw.randint(4, 8), 1.0, {}
    for step in range(count):
        found[2**step] = at * (1 + draw.gauss(0, noise))
        at *= 1 - draw.choice([0.0, draw.uniform(0, 0.02), draw.uniform(0, 0.1)])
    return found


def test_planted_rows_are_found() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(400):
        clean = efficiencies(draw, 0.01)
        place = draw.choice(list(clean)[1:-1])
        hits += kinds_without(made({**clean, place: clean[place] * 0.82})) == [(place, "slow")]
    assert hits >= 0.95 * 400


def kinds_without(found: Series) -> list[tuple[int, str]]:
    """Kinds without `retrograde`, which a steep end may be."""
    return [each for each in kinds(found) if each[1] != "retrograde"]


def test_clean_series_raise_no_alarm() -> None:
    draw = random.Random(8)
    alarms = sum(bool(kinds(made(efficiencies(draw, 0.01)))) for _ in range(1000))
    assert alarms <= 20
