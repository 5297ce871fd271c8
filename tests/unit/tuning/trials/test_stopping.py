"""Predicted curves and rules of stopping: right where the truth is known, and silent where nothing is known."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.tuning.trials.curves import (
    LEAST_FINISHED,
    Scale,
    by_families,
    by_ratios,
    chance,
    student,
    value_at,
)
from hackathon.tuning.trials.stopping import GO_ON, RULES, TrialSituation, halving, median_rule, predict
from support.tuning_replay import draws, replay

ERRORS = Scale(False, True)
Points = list[tuple[float, float]]


def falling(
    final: float, start: float = 2.0, length: int = 50, noise: float = 0.0, seed: int = 0
) -> list[tuple[float, float]]:
    """Return an exponential curve of an error from `start` towards `final`."""
    source = random.Random(seed)
    return [
        (float(x), (final + (start - final) * math.exp(-x / 8)) * math.exp(source.gauss(0, noise)))
        for x in range(1, length + 1)
    ]


def situation(
    curve: list[tuple[float, float]], finals: list[float], maximise: bool = False, **more: float
) -> TrialSituation:
    finished = [falling(final, seed=number, noise=0.02) for number, final in enumerate(finals)]
    best = min((each[-1][1] for each in finished), default=None)
    if maximise:
        finished = [[(x, 1 - value) for x, value in each] for each in finished]
        best = None if best is None else 1 - best
    return TrialSituation(curve, finished, finished, 50.0, best, maximise, **more)


@given(st.floats(1, 60), st.floats(-30, 30))
def test_the_distribution_is_that_of_scipy(freedom: float, t: float) -> None:
    from scipy.stats import t as oracle  # not above: a worker that collects would spend a second on it

    assert student(freedom, t) == pytest.approx(oracle.cdf(t, freedom), abs=1e-9)


def test_values_are_taken_at_or_before() -> None:
    curve = [(1.0, 5.0), (3.0, 4.0)]
    assert [value_at(curve, x) for x in (0.5, 1, 2.9, 3, 9)] == [None, 5.0, 5.0, 4.0, 4.0]


@given(st.floats(0.05, 1.0), st.integers(6, 40))
@settings(max_examples=40, deadline=None)
def test_families_find_the_end_of_a_clean_curve(final: float, seen: int) -> None:
    found = by_families(falling(final)[:seen], 50.0, Scale(False, False))
    assert found is not None
    assert abs(found.mean - falling(final)[-1][1]) < 3 * max(found.spread, 0.02)


def test_a_hopeless_trial_is_stopped_and_a_good_one_is_not() -> None:
    finals = [0.3 + 0.02 * number for number in range(10)]
    bad, good = falling(0.9, noise=0.02, seed=50)[:15], falling(0.1, noise=0.02, seed=51)[:15]
    assert predict(situation(bad, finals)).stop and not predict(situation(good, finals)).stop
    up = [[(x, 1 - value) for x, value in each] for each in (bad, good)]
    finals = [0.3 + 0.02 * number for number in range(10)]
    assert predict(situation(up[0], finals, True)).stop and not predict(situation(up[1], finals, True)).stop


@pytest.mark.parametrize("finals", [[], [0.3], [0.3] * 5])
def test_a_better_trial_is_never_stopped_however_few_finished(finals: list[float]) -> None:
    for seed in range(20):
        curve = falling(0.2, noise=0.03, seed=100 + seed)
        for seen in range(1, 50):
            assert not predict(situation(curve[:seen], finals)).stop, (seed, seen)


def test_nothing_is_stopped_before_there_is_a_result() -> None:
    for name, rule in RULES.items():
        assert rule(TrialSituation(falling(0.9)[:20], (), (), 50.0, None, False)) == GO_ON, name


def test_the_first_trials_are_judged_by_those_that_run_beside_them() -> None:
    """No trial has finished; three are as far as this one, which gains no more and is far behind."""
    beside = [falling(0.2 + 0.02 * number, seed=number, noise=0.02)[:25] for number in range(3)]
    hopeless = [(float(x), 1.7 + 0.02 / x) for x in range(1, 21)]
    now = TrialSituation(hopeless, (), beside, 50.0, None, False)
    assert predict(now).stop
    for metric in (lambda value: 1 - value / 2, lambda value: -value):  # an accuracy, and a score without bounds
        up = [[(x, metric(value)) for x, value in curve] for curve in (hopeless, *beside)]
        assert predict(TrialSituation(up[0], (), up[1:], 50.0, None, True)).stop
    assert not predict(TrialSituation(hopeless[:15], (), beside, 50.0, None, False)).stop, "before the rung"
    assert not predict(TrialSituation(hopeless, (), beside[:1], 50.0, None, False)).stop, "one other is too few"
    assert not predict(TrialSituation(beside[0], (), [hopeless, *beside[1:]], 50.0, None, False)).stop


def test_no_trial_is_far_behind_while_others_still_gain_as_much() -> None:
    """Warm-up: for a third of the time the leader was where this one is now."""
    slow = [(float(x), 2.0 * 0.95**x) for x in range(1, 21)]
    beside = [[(float(x), 2.0 * 0.93**x) for x in range(1, 26)] for _ in range(3)]
    assert not predict(TrialSituation(slow, (), beside, 50.0, None, False)).stop
    assert not predict(TrialSituation([*slow[:-1], (20.0, math.nan)], (), beside, 50.0, None, False)).stop
    broken = [[*curve[:-1], (25.0, math.nan)] for curve in beside]
    assert not predict(TrialSituation(slow, (), broken, 50.0, None, False)).stop


def test_a_training_that_diverged_is_stopped() -> None:
    curve = [*falling(0.2)[:5], (6.0, math.nan)]
    now = situation(curve, [0.3] * 9)
    assert {name for name, rule in RULES.items() if rule(now).stop} == {"predict", "halving", "median"}


def test_ratios_need_enough_finished_trials() -> None:
    finished = [falling(0.3 + number / 50) for number in range(LEAST_FINISHED)]
    curve = falling(0.4)[:10]
    assert by_ratios(curve, finished[1:], 50.0, ERRORS) is None
    found = by_ratios(curve, finished, 50.0, ERRORS)
    assert found is not None and found.freedom == LEAST_FINISHED - 1
    assert found.mean == pytest.approx(math.log(0.4), abs=3 * found.spread)


def test_a_late_learner_is_kept_though_the_others_went_another_way() -> None:
    """The finished ones had nothing more to gain at this point; this one still falls steeply."""
    flat = [[(float(x), 0.30 + 0.001 * number + 0.01 / x) for x in range(1, 51)] for number in range(10)]
    late = [(float(x), 1.5 * x**-0.55) for x in range(1, 15)]  # 0.35 at 14; 0.17 at 50
    now = TrialSituation(late, flat, flat, 50.0, 0.30, False)
    ratios = by_ratios(late, flat, 50.0, ERRORS)
    assert ratios is not None and ratios.below(math.log(0.30)) < 0.01
    assert not predict(now).stop


@given(st.floats(0.1, 10))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_an_error_does_not_matter(unit: float) -> None:
    finals = [0.3 + 0.02 * number for number in range(10)]
    now = situation(falling(0.5, noise=0.02, seed=3)[:12], finals)
    assert now.target is not None
    scaled = [[(x, unit * value) for x, value in each] for each in now.finished]
    curve = [(x, unit * value) for x, value in now.curve]
    first = chance(now.curve, now.finished, 50.0, ERRORS, now.target)
    assert chance(curve, scaled, 50.0, ERRORS, unit * now.target) == pytest.approx(first, abs=1e-6)


def test_scales() -> None:
    assert Scale.of([0.2, 0.9], True) == Scale(True, True) and Scale.of([0.2, 93.0], True) == Scale(True, False)
    assert Scale.of([0.0, 5.0], False) == Scale(False, True) and Scale.of([-1.0], False) == Scale(False, False)
    for scale, better, worse in ((Scale(True, True), 0.9, 0.8), (Scale(True, False), 93, 92), (ERRORS, 0.1, 0.2)):
        assert scale.cost(better) < scale.cost(worse)
    assert math.isfinite(Scale(True, True).cost(1.0))


def test_halving_keeps_the_best_third_at_a_rung() -> None:
    others = [falling(0.2 + 0.1 * number) for number in range(6)]
    now = [TrialSituation(falling(final)[:6], (), others, 50.0, None, False) for final in (0.1, 0.35, 0.9)]
    assert [halving(each).stop for each in now] == [False, True, True]
    assert not halving(TrialSituation(falling(0.9)[:5], (), others, 50.0, None, False)).stop, "it has reached no rung"
    assert not halving(TrialSituation(falling(0.9)[:6], (), others[:1], 50.0, None, False)).stop, "one other is too few"


def test_the_median_rule() -> None:
    finished = [falling(0.2 + 0.1 * number) for number in range(6)]
    late = [(float(x), 1.9) for x in range(1, 20)]
    assert median_rule(TrialSituation(late, finished, finished, 50.0, 0.2, False)).stop
    assert not median_rule(TrialSituation(falling(0.1)[:19], finished, finished, 50.0, 0.2, False)).stop
    assert not median_rule(TrialSituation(late, finished[:4], finished, 50.0, 0.2, False)).stop


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "maximise"), [("accuracy", True), ("loss", False)])
def test_real_curves_cost_less_than_half_and_the_choice_is_the_same(metric: str, maximise: bool) -> None:
    """`tests/bench/bench_tune.py` prints the figures of all rules."""
    found = [replay(predict, each, maximise=maximise) for each in draws(metric, 60, 30)]
    assert sum(each.epochs for each in found) / 30 <= 0.48
    assert sum(each.same for each in found) >= 0.95 * 30
    assert sum(each.wrongly for each in found) <= 2 * 0.05 * sum(each.stopped for each in found)
    by_halving = [replay(halving, each, maximise=maximise) for each in draws(metric, 60, 30)]
    assert sum(each.epochs for each in by_halving) < sum(each.epochs for each in found)
    assert sum(each.same for each in by_halving) < sum(each.same for each in found)
