"""What is made from a run's numbers: timings, the choice for a batch, and what is said beside a prediction."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.prediction.asynchronous.outlook import MeasuredRun, OneWorker, predict
from hackathon.prediction.asynchronous.timings import NEEDED, Spread, missing, timings_of

NUMBERS = {
    "compute_seconds": 0.1, "compute_deviation": 0.01, "exchange_seconds": 0.002, "exchange_deviation": 0.0004,
    "latency_seconds": 0.0005, "update_seconds": 0.021, "update_deviation": 0.002, "add_seconds": 0.001,
    "batch_size": 16, "epoch_samples": 1437, "gradients": 1800, "mini_batch": 16, "staleness_bound": -1,
}  # fmt: skip
ONE = OneWorker("r1", timings_of(NUMBERS))


def test_timings_are_what_the_run_told() -> None:
    timings = ONE.timings
    assert timings.compute == Spread(0.1, 0.01) and timings.latency == 0.0005
    assert timings.transfer.mean == pytest.approx(0.0015) and timings.exchange == pytest.approx(0.002)
    assert timings.update.mean == pytest.approx(0.020) and timings.bound is None
    assert timings_of({**NUMBERS, "staleness_bound": 2}).bound == 2
    # updates of two gradients on average: what they add is taken off twice
    assert timings_of({**NUMBERS, "mini_batch": 32}).update.mean == pytest.approx(0.019)
    slow = timings_of({**NUMBERS, "latency_seconds": 1.0})
    assert (slow.latency, slow.transfer.mean) == (0.002, 0.0)


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_missing_is_named(name: str) -> None:
    assert missing(NUMBERS) == ()
    assert missing({key: value for key, value in NUMBERS.items() if key != name}) == (name,)
    for wrong in (math.nan, math.inf, -1.0, 1e300):
        assert name in missing({**NUMBERS, name: wrong})


@given(st.dictionaries(st.sampled_from(NEEDED), st.floats()))
def test_whatever_a_run_tells_is_refused_or_simulated(told: dict[str, float]) -> None:
    numbers = {**NUMBERS, **told}
    if not missing(numbers):
        made = replace(timings_of(numbers), gradients=20)
        (one,) = predict(OneWorker("r", made), [2]).outlooks
        assert one.sweep_seconds > 0 and one.batch > 0 and one.staleness.mean >= 0


@pytest.mark.slow
def test_the_fastest_configuration_whose_batch_is_near_enough() -> None:
    found = predict(ONE, [64, 4, 8, 16, 32, 16], 64)
    assert [each.workers for each in found.outlooks] == [4, 8, 16, 32, 64]
    batches = {each.workers: each.batch for each in found.outlooks}
    assert sorted(batches.values()) == list(batches.values())
    near = [workers for workers, batch in batches.items() if abs(batch / 64 - 1) <= 0.25]
    assert near and found.chosen == max(near)
    assert found.json["chosen"] == found.chosen and found.json["target_batch"] == 64
    none = predict(ONE, [1, 4], 5000)
    assert (none.chosen, none.nearest) == (None, 4)
    assert predict(ONE, [1, 2]).chosen is None and predict(ONE, [1, 2]).json["nearest"] is None


def test_more_workers_than_batches_are_not_chosen() -> None:
    found = predict(ONE, [80, 90], 1000)
    assert "few_samples" not in found.outlooks[0].warnings and "few_samples" in found.outlooks[1].warnings
    assert found.nearest == 80


def test_what_was_not_measured_is_told() -> None:
    assert predict(ONE, [1]).outlooks[0].warnings == ()
    assert "extrapolated" in predict(ONE, [2]).outlooks[0].warnings
    runs = [MeasuredRun(4, 2.0, 20.0, 3.5), MeasuredRun(4, 2.2, 22.0, 3.7), MeasuredRun(4, 9.0, 21.0, 3.6)]
    two, four, eight = predict(replace(ONE, measured=runs), [2, 4, 8]).outlooks
    assert "extrapolated" not in (*two.warnings, *four.warnings) and "extrapolated" in eight.warnings
    assert four.measured == {"runs": 3, "sweep_seconds": 2.2, "batch": 21.0, "staleness": 3.6}
    assert two.measured is None


def test_a_server_without_time_is_told() -> None:
    busy = predict(ONE, [64]).outlooks[0]
    assert "update_full" in busy.warnings and busy.update_load > 0.95
    timings = replace(ONE.timings, transfer=Spread(0.02), update=Spread(0.001), add=0.0)
    full = predict(replace(ONE, timings=timings), [16]).outlooks[0]
    assert "link_full" in full.warnings and "update_full" not in full.warnings
    held = predict(replace(ONE, timings=replace(ONE.timings, add=0.01)), [16]).outlooks[0]
    assert "held_back" in held.warnings and held.batch <= 16 * 16 * 8
    assert held.samples_per_second == pytest.approx(1600, rel=0.05)  # 10 ms for each gradient of 16 samples
    adding = replace(ONE.timings, add=0.004)
    assert "large_updates" in predict(replace(ONE, timings=adding), [16]).outlooks[0].warnings
    assert "large_updates" not in predict(replace(ONE, timings=adding, most_gradients=50), [16]).outlooks[0].warnings


def test_the_json_is_complete_and_finite() -> None:
    import json

    told = predict(ONE, [2, 8], 40).json
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    entry = told["predictions"][1]
    assert set(entry) == {
        "workers", "sweep_seconds", "samples_per_s", "batch", "staleness", "update_load", "exchange_load",
        "closed_form", "measured", "warnings",
    }  # fmt: skip
    assert set(entry["batch"]) == {"mean", "p10", "p50", "p90"}
    assert set(entry["staleness"]) == {"mean", "p50", "p90", "p99", "max"}
    assert entry["sweep_seconds"] == pytest.approx(1437 / entry["samples_per_s"])
    assert entry["closed_form"]["sweep_seconds"] == pytest.approx(entry["sweep_seconds"], rel=0.03)
