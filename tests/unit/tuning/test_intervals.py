"""Claims about paired ratios: with nothing planted at most one table in twenty claims anything, whatever the noise."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.tuning.intervals import FALSE_CLAIMS, pairs_needed, ratio_of
from hackathon.tuning.options import Option
from hackathon.tuning.slots import TrainingStart, order_of
from hackathon.tuning.verdict import OptionRow, compare, winners

TABLES = 1500


def gauss(drawn: random.Random, at: float) -> float:
    """Return a start's throughput with noise of 5 %."""
    return 100 * math.exp(drawn.gauss(0, 0.05))


def heavy(drawn: random.Random, at: float) -> float:
    """Return one that is sometimes half as fast, because somebody else computes."""
    return 100 * drawn.uniform(0.97, 1.0) * (0.5 if drawn.random() < 0.2 else 1)


def drifting(drawn: random.Random, at: float) -> float:
    """Return one on a machine that becomes slower all the time."""
    return 100 * (1 - 0.5 * at) * drawn.uniform(0.99, 1.0)


def table(
    noise: Callable[[random.Random, float], float], seed: int, options: list[Option], factor: float = 1
) -> list[OptionRow]:
    """Return the rows of one table; arm 1 is faster by a factor."""
    drawn = random.Random(seed)
    claims = len(options) + 1
    order = order_of(len(options) + 1, pairs_needed(claims), str(seed))
    slots = [
        TrainingStart(each["arm"], each["round"], noise(drawn, at / len(order)) * (factor if each["arm"] == 1 else 1))
        for at, each in enumerate(order)
    ]
    return list(compare(slots, options, claims).rows)


def options(count: int) -> list[Option]:
    return [Option(f"o={number}", "other", "nothing", {"o": number}) for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [gauss, heavy, drifting])
@pytest.mark.parametrize("count", [1, 6])
def test_without_an_effect_few_tables_claim_anything(
    noise: Callable[[random.Random, float], float], count: int
) -> None:
    claiming = sum(
        any(row.verdict in ("faster", "slower") for row in table(noise, seed, options(count)))
        for seed in range(TABLES)
    )  # fmt: skip
    # 5 %, and three standard deviations of what so many tables can show of it
    assert claiming / TABLES <= FALSE_CLAIMS + 3 * math.sqrt(FALSE_CLAIMS * (1 - FALSE_CLAIMS) / TABLES)


@pytest.mark.parametrize("noise", [gauss, drifting])
def test_a_planted_gain_is_found_and_nothing_else(noise: Callable[[random.Random, float], float]) -> None:
    right = 0
    for seed in range(200):
        rows = table(noise, seed, options(6), factor=2.5)
        right += [row.name for row in rows if row.verdict == "faster"] == ["o=0"]
    assert right >= 190


def test_too_few_pairs_claim_nothing() -> None:
    assert pairs_needed(1) == 6 and pairs_needed(6) == 8
    for rows in (1, 2, 6, 20):
        count = pairs_needed(rows)
        assert ratio_of([2.0] * count, rows).claim == "faster"
        assert ratio_of([0.5] * count, rows).claim == "slower"
        assert ratio_of([2.0] * (count - 1), rows).claim == "few"
        assert ratio_of([1.0] * count, rows).claim == "none"


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=40), st.integers(1, 30))
def test_the_median_lies_in_its_interval_and_the_inverse_mirrors_it(ratios: list[float], rows: int) -> None:
    found, mirrored = ratio_of(ratios, rows), ratio_of([1 / each for each in ratios], rows)
    assert found.low <= found.middle <= found.high
    if found.claim != "few":
        assert math.isclose(found.low, 1 / mirrored.high) and math.isclose(found.high, 1 / mirrored.low)


def test_the_order_holds_each_arm_once_a_round() -> None:
    order = order_of(5, 7, "program")
    assert order == order_of(5, 7, "program") != order_of(5, 7, "another")
    for number in range(7):
        part = order[number * 5 : number * 5 + 5]
        assert {each["arm"] for each in part} == set(range(5)) and {each["round"] for each in part} == {number}


def measured(option: Option, unit: str, base: float, its: float) -> OptionRow:
    slots = [TrainingStart(arm, n, (base, its)[arm], "t", unit) for arm in (0, 1) for n in range(8)]
    return compare(slots, [option], 1).rows[0]


@pytest.mark.parametrize(
    ("unit", "its", "ratio", "verdict"),
    [("s/step", 15.0, 1 / 1.5, "slower"), ("ms", 5.0, 2.0, "faster"), ("samples/s", 15.0, 1.5, "faster"),
     ("1/s", 5.0, 0.5, "slower"), ("", 15.0, 1.5, "faster"), ("steps/s", 10.0, 1.0, "none")],
)  # fmt: skip
def test_of_times_the_shorter_one_is_faster(unit: str, its: float, ratio: float, verdict: str) -> None:
    row = measured(options(1)[0], unit, 10.0, its)
    assert row.ratio is not None and row.ratio.middle == pytest.approx(ratio)
    assert (row.verdict, row.value, row.wins) == (verdict, its, verdict == "faster")


@pytest.mark.parametrize(
    ("unit", "its", "ratio"),
    [("steps/s", 5.5, 1.1), ("it/s", 4.0, 0.8), ("s/step", 18.0, 20 / 18), ("samples/s", 11.0, 1.1), ("s", 8.0, 1.25)],
)
def test_a_step_of_twice_the_batch_is_twice_the_work(unit: str, its: float, ratio: float) -> None:
    row = measured(Option("b", "batch", "training", {"batch_size": 2}, work=2.0), unit, 10.0, its)
    assert row.ratio is not None and row.ratio.middle == pytest.approx(ratio)
    assert row.verdict == ("faster" if ratio > 1 else "slower") and not row.wins


def slot(arm: int, number: int, value: float | None, loss: float | None = None, failed: bool = False) -> TrainingStart:
    losses = {} if loss is None else {1.0: 2 * loss, 2.0: loss, 3.0: loss}
    return TrainingStart(arm, number, value, losses=losses, loss=loss, failed=failed, folder=f"slots/{arm}{number}")


def with_losses(change: float, changes: str = "rounding", seeds: float = 0.1) -> OptionRow:
    option = Option("amp=bf16", "precision", changes, {"amp": "bf16"})  # type: ignore[arg-type]
    slots = [slot(0, number, 100.0 + number, 1.0 + seeds * (number % 2)) for number in range(8)]
    slots += [slot(1, number, 200.0 + number, 1.0 + seeds * (number % 2) + change) for number in range(8)]
    return compare(slots, [option], 1).rows[0]


def test_a_loss_is_the_same_within_what_two_seeds_differ_by() -> None:
    assert with_losses(0.0).loss == "same" and with_losses(0.0).wins
    assert with_losses(-0.5).loss == "same"
    assert with_losses(0.5).loss == "worse" and not with_losses(0.5).wins
    assert with_losses(math.nan).loss == "worse"
    assert with_losses(0.5, "nothing").loss == "untouched"
    # nobody knows how much it may differ where all starts told the same
    assert with_losses(0.001, seeds=0).loss == "unknown" and not with_losses(0.001, seeds=0).wins
    # a larger batch changes the training: a short run does not say how
    assert with_losses(0.0, "training").loss == "unknown"


def test_an_option_that_fails_once_is_failed_and_wins_nothing() -> None:
    option = Option("amp=fp16", "precision", "nothing", {"amp": "fp16"})
    slots = [slot(0, number, 100.0) for number in range(8)]
    slots += [slot(1, number, 200.0) for number in range(7)] + [slot(1, 7, None, failed=True)]
    row = compare(slots, [option], 1).rows[0]
    assert row.verdict == "failed" and row.failed == "slots/17" and winners([row]) == []


def test_of_several_values_of_one_setting_the_best_is_used() -> None:
    found = [Option(f"workers={count}", "loader", "nothing", {"workers": count}) for count in (2, 4)]
    found.append(Option("fused=true", "optimizer", "nothing", {"fused": True}))
    slots = [slot(arm, number, (100, 150, 200, 120)[arm] + number) for arm in range(4) for number in range(9)]
    assert [row.name for row in winners(compare(slots, found, 4).rows)] == ["workers=4", "fused=true"]
