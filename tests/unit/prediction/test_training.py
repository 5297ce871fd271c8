"""The time of a training: exact where nothing is unknown, a range where nobody knows, between bounds everywhere."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.prediction.training import (
    CRITICAL,
    GIVEN,
    MEASURED,
    RANGE,
    Goal,
    Need,
    ValueRange,
    bounds,
    samples_at,
    training,
)  # fmt: skip

RATE = ValueRange(1000.0, 900.0, 1100.0)


def weak(*needs: Need, critical: float | None = None, given: bool = False) -> Goal:
    return Goal(needs, 32.0, True, True, 1e4, critical, given)


def test_epochs_that_were_asked_for_hold_at_every_size() -> None:
    goal = weak(Need(32.0, 9e5), given=True)
    for processes in (1, 64):
        made = training(goal, processes, RATE, 0.5)
        assert made is not None and made.basis == GIVEN and made.seconds.value == pytest.approx(900.0)
        assert made.seconds.low == pytest.approx(9e5 / 1100) and made.seconds.high == pytest.approx(1000.0)
        assert made.epochs is not None and made.epochs.value == 90.0
        assert made.steps is not None and made.steps.value == pytest.approx(9e5 / 32 / processes)
        assert made.tokens is not None and made.tokens.value == pytest.approx(450.0)


def test_the_critical_batch_size_says_how_many_more_samples() -> None:
    goal = weak(Need(32.0, 1e6), critical=32.0 * 63, given=True)
    samples, basis = samples_at(goal, 32.0 * 65)
    assert basis == CRITICAL and samples.value == pytest.approx(1e6 * (1 + 65 / 63) / (1 + 1 / 63))


def test_two_batches_give_bounds_and_a_measured_batch_its_own_samples() -> None:
    goal = weak(Need(32.0, 1e6), Need(64.0, 1.2e6))
    samples, basis = samples_at(goal, 256.0)
    assert basis == RANGE and (samples.low, samples.high) == pytest.approx((1.2e6, 4.8e6))
    assert samples_at(goal, 64.0)[1] == MEASURED and samples_at(goal, 64.0)[0].value == 1.2e6
    made = training(goal, 8, RATE, None)
    assert made is not None and made.seconds.low == pytest.approx(1.2e6 / 1100) and made.tokens is None
    assert made.seconds.high == pytest.approx(4.8e6 / 900)


def test_runs_that_told_only_their_end_estimate_no_critical_batch() -> None:
    needs = [Need(32.0 * 2**step, 1e6 * (1 + 0.1 * step), exact=False) for step in range(4)]
    assert samples_at(weak(*needs), 1024.0)[1] == RANGE


def noisy_gradients(batch: float, noise: float, target: float) -> float:
    """Return the samples that a gradient method needs on a quadratic in 20 directions, at its best learning rate.

    The expected squares of all directions are followed step by step; no hyperbola is in it.
    """
    curvatures = [10 ** (-1.5 * i / 19) for i in range(20)]

    def steps(rate: float) -> float:
        squares = [1.0] * 20
        for step in range(1, 4000):
            squares = [
                s * (1 - rate * h) ** 2 + rate * rate * noise / batch for s, h in zip(squares, curvatures, strict=True)
            ]
            if sum(h * s for h, s in zip(curvatures, squares, strict=True)) < target:
                return float(step)
        return math.inf

    return batch * min(steps(1.6 * 0.75**k) for k in range(22))


@pytest.fixture(scope="module")
def truth() -> dict[int, float]:
    return {batch: noisy_gradients(batch, 0.6, 0.1) for batch in (16, 32, 64, 128, 256, 512)}


@pytest.mark.slow
def test_three_batches_of_a_simulated_training_predict_larger_ones(truth: dict[int, float]) -> None:
    goal = weak(*(Need(float(batch), truth[batch]) for batch in (16, 32, 64, 128)))
    for batch in (256, 512):
        samples, basis = samples_at(goal, float(batch))
        assert basis == CRITICAL and samples.low <= truth[batch] <= samples.high
        assert samples.value == pytest.approx(truth[batch], rel=0.25)
    assert truth[512] > 1.5 * truth[16], "the batch must matter, else this shows nothing"


def test_intervals_of_noisy_needs_hold() -> None:
    draw, held, count = random.Random(4), 0, 300
    for _ in range(count):
        least, critical = draw.uniform(1e5, 1e7), 10 ** draw.uniform(2, 4)

        def need(batch: float, least: float = least, critical: float = critical) -> float:
            return least * (1 + batch / critical) * math.exp(draw.gauss(0, 0.06))

        batches = [64.0 * 2**step for step in range(draw.choice([3, 4, 5]))]
        goal = weak(*(Need(batch, need(batch)) for batch in batches))
        samples, basis = samples_at(goal, 4 * batches[-1])
        true = least * (1 + 4 * batches[-1] / critical)
        assert basis == CRITICAL
        held += samples.low <= true <= samples.high
    assert 0.85 <= held / count <= 0.99


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(1e2, 1e12), st.booleans()), min_size=1, max_size=6),
    st.floats(0.1, 1e8), st.none() | st.floats(1, 1e7),
)  # fmt: skip
def test_any_needs_give_an_ordered_interval(
    needs: list[tuple[float, float, bool]], batch: float, critical: float | None
) -> None:
    goal = weak(*(Need(*each) for each in needs), critical=critical)
    samples, _ = samples_at(goal, batch)
    assert 0 < samples.low <= samples.value * (1 + 1e-9) and samples.value <= samples.high * (1 + 1e-9)
    low, high = bounds(goal.needs, batch) if all(abs(n[0] / batch - 1) > 0.01 for n in needs) else (1.0, 1.0)
    assert low <= high
