"""Comparing algorithms: equal ones are not told apart, a better one is found, and the sums are right."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.tuning.trials.algorithms import (
    BEST_OF,
    FIRST_LOOK,
    AlgorithmComparison,
    compare,
    comparison,
    exchanged,
    looks,
    next_algorithm,
    probabilities,
    score,
)
from hackathon.tuning.trials.curves import ExpectedEnd
from hackathon.tuning.trials.ledger import Trial
from hackathon.tuning.trials.objective import END, TIME_TO, Objective
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, RUNNING, STOPPED, Progress
from hackathon.tuning.trials.space import CHOICE, LOG, Dimension
from hackathon.tuning.trials.tuner import Tuner

DELTA, TRIALS = 0.05, 40
Draw = Callable[[random.Random], float]
NORMAL: Draw = lambda source: source.gauss(0.0, 1.0)  # noqa: E731
SKEWED: Draw = lambda source: source.expovariate(1.0)  # noqa: E731
OFTEN_BAD: Draw = lambda source: source.gauss(0.0, 0.1) if source.random() < 0.4 else 5.0  # noqa: E731


def replayed(number: int, *draws: Draw, trials: int = TRIALS) -> AlgorithmComparison:
    """Return what comes of a whole tuning whose algorithms have results like these."""
    source = random.Random(number)
    groups: dict[int, list[ExpectedEnd]] = {name: [] for name in range(len(draws))}
    for _ in range(trials):
        living = compare(groups, trials, DELTA, str(number)).living
        name = min(living, key=lambda each: len(groups[each]))
        groups[name].append(ExpectedEnd(draws[name](source), 0.0, 1.0))
    return compare(groups, trials, DELTA, str(number), over=True, told=True)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "count"), [(NORMAL, 3), (SKEWED, 2), (OFTEN_BAD, 2)])
def test_equal_algorithms_are_told_apart_at_most_with_delta(draw: Draw, count: int) -> None:
    wrong = sum(
        any(each.out for each in replayed(number, *[draw] * count, trials=24).algorithms) for number in range(200)
    )
    # more than this comes of a true rate of delta in one of a thousand tests
    assert wrong <= 200 * DELTA + 3.1 * math.sqrt(200 * DELTA * (1 - DELTA)), wrong


@pytest.mark.slow
def test_a_better_algorithm_is_found_and_gets_the_trials() -> None:
    found = [replayed(number, NORMAL, lambda source: source.gauss(-1.5, 1.0)) for number in range(20)]
    assert sum(each.decided for each in found) >= 17
    assert all(each.best is not None and each.best.name == 1 for each in found if each.decided)
    assert fmean(each.algorithms[1].trials for each in found) > TRIALS / 2 + 3, "the loser's share goes to the winner"


def test_looks_are_planned_and_use_no_later_trials() -> None:
    assert looks(30) == [5, 10] and looks(9) == [] and looks(None) == [5, 10, 20, 40]
    groups = {name: [ExpectedEnd(float(name) + 0.01 * each, 0.0, 1.0) for each in range(4)] for name in (0, 9)}
    early = compare(groups, TRIALS, DELTA, "1", over=True, told=True)
    assert not early.decided and all(each.probability is None for each in early.algorithms), "four are too few"
    groups = {name: [ExpectedEnd(float(name) + 0.01 * each, 0.0, 1.0) for each in range(5)] for name in (0, 9)}
    assert compare(groups, TRIALS, DELTA, "1").living == [0]
    turned = {0: [*groups[0], *[ExpectedEnd(99.0, 0.0, 1.0)] * 3], 9: groups[9]}
    assert compare(turned, TRIALS, DELTA, "1").living == [0], "what was decided at a look stays"


def test_an_uncertain_prediction_is_no_decision() -> None:
    sure = {0: [ExpectedEnd(0.1 * each, 0.0, 1.0) for each in range(6)]}
    for spread, decided in ((0.01, True), (9.0, False)):
        groups = {**sure, 1: [ExpectedEnd(2.0 + 0.1 * each, spread, 5.0) for each in range(6)]}
        assert compare(groups, TRIALS, DELTA, "1").decided is decided


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8))
def test_the_score_is_the_expected_best_of_three(values: list[float]) -> None:
    ordered = sorted(values)
    taken = min(BEST_OF, len(values))
    wanted = fmean(min(each) for each in itertools.combinations(ordered, taken))
    assert score(ordered) == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.floats(-3, 3), min_size=FIRST_LOOK, max_size=9), min_size=2, max_size=4))
def test_probabilities_are_probabilities(values: list[list[float]]) -> None:
    groups = {name: [ExpectedEnd(each, 0.0, 1.0) for each in ends] for name, ends in enumerate(values)}
    found = probabilities(groups, "1")
    assert math.fsum(found.values()) == pytest.approx(1.0) and found == probabilities(groups, "1")
    assert all(share >= 0.04 for share in exchanged(groups, [0.0], 0.05, "1")), "no lead at all is nothing"
    assert compare(groups, 24, DELTA, "1").living, "one is left"


AXIS = Dimension("optimizer", CHOICE, choices=("sgd", "adam"))
PLAN = TuningPlan(
    (AXIS, Dimension("lr", LOG, 0.01, 1.0)), Objective(END, "accuracy", True), "random", compare="optimizer", trials=40
)


def trials(**values: list[float]) -> list[Trial]:
    rows = [(name, value) for name, each in values.items() for value in each]
    return [
        Trial(number, {"optimizer": name, "lr": 0.1}, None, Progress(FINISHED, ((1.0, 0.1), (2.0, value)), value))
        for number, (name, value) in enumerate(rows, 1)
    ]


def test_trials_are_compared_by_their_ends() -> None:
    known = trials(sgd=[0.9, 0.91, 0.92, 0.93, 0.94], adam=[0.5, 0.51, 0.52, 0.53, 0.54])
    found = comparison(PLAN, known)
    assert found is not None and found.decided and found.living == ["sgd"]
    stopped = [
        Trial(9 + number, {"optimizer": "adam", "lr": 0.1}, None, Progress(STOPPED, ((1.0, 0.1),)))
        for number in range(5)
    ]
    same = comparison(PLAN, [*known[:5], *stopped])
    assert same is not None and same.algorithms[1].trials == 5, "what they would have become counts"
    plain = TuningPlan(PLAN.space, PLAN.objective, "random")
    assert comparison(plain, known) is None


def test_an_algorithm_whose_trials_all_fail_is_out() -> None:
    failed = [Trial(n, {"optimizer": "adam", "lr": 0.1}, None, Progress(FAILED)) for n in (7, 8, 9)]
    found = comparison(PLAN, [*trials(sgd=[0.9]), *failed])
    assert found is not None and found.living == ["sgd"] and not found.decided
    assert comparison(PLAN, failed[:2]).living == ["sgd", "adam"]  # type: ignore[union-attr]


def test_those_with_fewest_trials_come_first() -> None:
    known = [*trials(sgd=[0.9], adam=[0.8]), Trial(3, {"optimizer": "sgd", "lr": 0.1}, None, Progress(RUNNING))]
    found = comparison(PLAN, known)
    assert found is not None and next_algorithm(PLAN, known, found) == ["adam", "sgd"]


def test_times_are_compared_where_the_time_counts() -> None:
    plan = TuningPlan(
        PLAN.space, Objective(TIME_TO, "accuracy", True, goal=0.9), "random", compare="optimizer", trials=24
    )
    quick = trials(sgd=[10, 11, 12, 13, 14], adam=[100, 110, 120, 130, 140])
    found = comparison(plan, quick)
    assert found is not None and found.living == ["sgd"]


@pytest.mark.parametrize("sampler", ["random", "grid", "optuna"])
def test_trials_are_shared_equally_until_it_is_decided(sampler: str) -> None:
    plan = replace(PLAN, sampler=sampler)
    tuner, known = Tuner(None, plan), []  # type: ignore[arg-type]
    for number in range(1, 11):
        settings = tuner.proposal(known)
        assert settings is not None and {*settings} == {"optimizer", "lr"}
        value = 0.9 if settings["optimizer"] == "sgd" else 0.3
        value += 0.001 * number
        known.append(Trial(number, settings, None, Progress(FINISHED, ((1.0, 0.1), (2.0, value)), value)))
    names = [each.settings["optimizer"] for each in known]
    if sampler == "grid":  # five values of lr each
        assert sorted(names) == ["adam"] * 5 + ["sgd"] * 5 and tuner.proposal(known) is None
        return
    assert names == ["sgd", "adam"] * 5
    for _ in range(3):
        settings = tuner.proposal(known)
        assert settings is not None and settings["optimizer"] == "sgd"
        known.append(replace(known[0], number=len(known) + 1, settings=settings))


def test_while_algorithms_are_compared_results_do_not_choose_configurations() -> None:
    good, bad = (
        [replace(each, progress=replace(each.progress, value=value)) for each in trials(sgd=[0.5], adam=[0.5])]
        for value in (0.9, 0.1)
    )
    tuner = Tuner(None, replace(PLAN, sampler="optuna"))  # type: ignore[arg-type]
    assert tuner.proposal(good) == tuner.proposal(bad)
    assert len({str(tuner.proposal(good[:count])) for count in range(3)}) == 3
