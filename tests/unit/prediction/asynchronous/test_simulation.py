"""The simulation of asynchronous SGD: exact where times are constant, and like its formulas where they are not."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.prediction.asynchronous.closed_form import closed_form
from hackathon.prediction.asynchronous.simulation import Counts, simulate
from hackathon.prediction.asynchronous.timings import Spread, Timings

CONSTANT = Timings(
    compute=Spread(0.1), latency=0.004, transfer=Spread(0.0), update=Spread(0.01), add=0.0, batch=16,
    epoch_samples=1600, gradients=400,
)  # fmt: skip
PERIOD = 0.104
VARIED = replace(
    CONSTANT, compute=Spread(0.1, 0.02), transfer=Spread(0.001, 0.0002), update=Spread(0.02, 0.004), gradients=3000
)

times = st.floats(0.001, 0.2)
varied = st.builds(
    Timings, compute=st.builds(Spread, times, st.floats(0, 0.05)), latency=st.floats(0, 0.01),
    transfer=st.builds(Spread, st.floats(0, 0.003), st.floats(0, 0.0005)),
    update=st.builds(Spread, times, st.floats(0, 0.02)), add=st.floats(0, 0.001), batch=st.integers(1, 64),
    epoch_samples=st.floats(64, 5000), gradients=st.integers(50, 300), bound=st.none() | st.integers(0, 3),
)  # fmt: skip


def evenly(workers: int) -> list[float]:
    """Return starts that are spread over the time between two gradients of a worker."""
    return [number * PERIOD / workers for number in range(workers)]


def test_one_worker_with_constant_times_is_exact() -> None:
    found = simulate(CONSTANT, 1)
    assert found.rate == pytest.approx(1 / PERIOD, rel=1e-12)
    assert found.batches.values == {1: 390} and found.staleness.values == {1: 390}
    assert found.update_load == pytest.approx(0.01 / PERIOD, rel=1e-9)
    formula = closed_form(CONSTANT, 1)
    assert (formula.rate, formula.batch, formula.staleness) == (pytest.approx(1 / PERIOD), 1, 1)


def test_one_worker_whose_updates_take_longer_than_its_gradients() -> None:
    slow = replace(CONSTANT, update=Spread(3 * PERIOD), gradients=3000)
    found = simulate(slow, 1)
    formula = closed_form(slow, 1)
    assert found.batches.mean == pytest.approx(3, rel=0.01) and formula.batch == pytest.approx(3)
    assert found.staleness.mean == pytest.approx(4 / 3, rel=0.01) and formula.staleness == pytest.approx(4 / 3)
    assert found.rate == pytest.approx(1 / PERIOD, rel=0.01)


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_workers_in_turn_are_exact(workers: int) -> None:
    """Each gradient is one update, and those of all others and the worker's own former one came between."""
    found = simulate(CONSTANT, workers, starts=evenly(workers))
    assert found.rate == pytest.approx(workers / PERIOD, rel=1e-9)
    assert set(found.batches.values) == {1} and set(found.staleness.values) == {workers}


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_workers_in_step_are_exact(workers: int) -> None:
    """All gradients arrive at the same moment and are one update; none has seen the former one."""
    found = simulate(CONSTANT, workers)
    assert found.rate == pytest.approx(
        workers / PERIOD, rel=0.05
    )  # the last update ends a whole period after the first
    assert set(found.batches.values) == {workers} and set(found.staleness.values) == {1}


def test_the_server_talks_to_one_worker_after_another() -> None:
    """Where exchanges are all that takes time, more workers do not help, and each waits for all others."""
    busy = replace(CONSTANT, compute=Spread(0.0), latency=0.0, transfer=Spread(0.01), update=Spread(0.0001))
    for workers in (1, 2, 5):
        assert simulate(busy, workers).rate == pytest.approx(100, rel=0.02)
        assert closed_form(busy, workers).rate == pytest.approx(100)
        assert closed_form(busy, workers).waiting == pytest.approx(workers)
    assert simulate(busy, 5).link_load == pytest.approx(1, abs=0.03)


def test_a_bound_of_zero_makes_rounds() -> None:
    """A worker goes on when the gradients of all have been applied, so the slowest one of each round counts."""
    bound = replace(VARIED, bound=0, gradients=2000)
    free, held = simulate(replace(bound, bound=None), 4), simulate(bound, 4)
    assert held.rate < 0.8 * free.rate
    assert held.staleness.largest < 4 and held.staleness.mean < free.staleness.mean
    assert simulate(replace(bound, bound=1000), 4).rate == free.rate


@settings(max_examples=30, deadline=None)
@given(varied, st.integers(1, 12))
def test_scaled_times_have_the_same_statistics(timings: Timings, workers: int) -> None:
    one, other = simulate(timings, workers, 3), simulate(timings.scaled(4.0), workers, 3)
    assert one.batches.values == other.batches.values and one.staleness.values == other.staleness.values
    assert one.rate == pytest.approx(4 * other.rate, rel=1e-9)
    formula, scaled = closed_form(timings, workers), closed_form(timings.scaled(4.0), workers)
    assert (formula.batch, formula.staleness) == pytest.approx((scaled.batch, scaled.staleness), rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(varied, st.integers(1, 12), st.integers(1, 5))
def test_what_always_holds(timings: Timings, workers: int, seed: int) -> None:
    found = simulate(timings, workers, seed)
    again = simulate(timings, workers, seed)
    assert found == again
    assert found.update_load >= 0 and found.rate > 0 and found.batches.mean >= 1 and 0 <= found.held <= 1
    updates, gradients = sum(found.batches.values.values()), sum(found.staleness.values.values())
    assert sum(size * count for size, count in found.batches.values.items()) == gradients
    assert updates >= 10
    assert found.staleness.percentile(50) <= found.staleness.percentile(90) <= found.staleness.largest


@settings(max_examples=20, deadline=None)
@given(varied)
def test_more_workers_are_never_slower_without_contention(timings: Timings) -> None:
    free = replace(timings, transfer=Spread(0.0), bound=None)
    rates = [closed_form(free, workers).rate for workers in (1, 2, 4, 8, 16)]
    assert all(after == pytest.approx(2 * before) for before, after in pairwise(rates))
    update = Spread(min(free.update.mean, free.compute.mean))
    constant = replace(free, compute=Spread(free.compute.mean), update=update, add=0.0, gradients=600)
    made = [simulate(constant, workers).rate for workers in (1, 2, 4, 8)]
    assert all(after >= before * 0.999 for before, after in pairwise(made))


@pytest.mark.parametrize("workers", [1, 2, 4, 8, 16])
def test_a_gradient_is_as_stale_as_there_are_workers_while_updates_are_short(workers: int) -> None:
    """N − 1 of the others, and the worker's own former gradient."""
    quick = replace(VARIED, update=Spread(1e-6), transfer=Spread(0.0))
    assert simulate(quick, workers).staleness.mean == pytest.approx(workers, rel=0.01)
    assert closed_form(quick, workers).staleness == pytest.approx(workers, rel=0.01)


@pytest.mark.parametrize("workers", [4, 8, 16, 32])
def test_formulas_are_near_the_simulation_for_many_workers(workers: int) -> None:
    found, formula = simulate(replace(VARIED, gradients=4000), workers), closed_form(VARIED, workers)
    assert formula.rate == pytest.approx(found.rate, rel=0.01)
    assert formula.batch == pytest.approx(found.batches.mean, rel=0.12)
    assert formula.staleness == pytest.approx(found.staleness.mean, rel=0.12)


def test_more_workers_make_larger_batches_when_the_update_thread_is_busy() -> None:
    made = [simulate(VARIED, workers) for workers in (2, 8, 32)]
    assert made[0].batches.mean < made[1].batches.mean < made[2].batches.mean
    assert made[2].batches.mean == pytest.approx(made[2].rate * 0.02, rel=0.05) and made[2].update_load > 0.98


def test_percentiles() -> None:
    counts = Counts()
    assert (counts.mean, counts.largest, counts.percentile(50)) == (0, 0, 0)
    counts.values.update([1, 1, 1, 2, 2, 2, 3, 3, 9, 10])
    assert (counts.mean, counts.largest) == (3.4, 10)
    assert [counts.percentile(percent) for percent in (10, 50, 90, 99)] == [1, 2, 9, 10]


@pytest.mark.parametrize("deviation", [0.0, 0.001, 0.05, 0.3])
def test_drawn_times_have_mean_and_deviation(deviation: float) -> None:
    from random import Random
    from statistics import fmean, pstdev

    random = Random(1)
    drawn = [Spread(0.1, deviation).draw(random) for _ in range(20000)]
    assert min(drawn) >= 0
    assert fmean(drawn) == pytest.approx(0.1, rel=0.05) and pstdev(drawn) == pytest.approx(deviation, rel=0.06)
