"""The best trial, what stopping saved, and when a tuning is given up."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.jobs.cost import Spent
from hackathon.tuning.trials.former import WarmStart
from hackathon.tuning.trials.ledger import Trial
from hackathon.tuning.trials.objective import Objective
from hackathon.tuning.trials.outcome import another_better, best, hopeless, share_of_all, tokens_open
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.reading import FAILED, FINISHED, RUNNING, STOPPED, Progress
from hackathon.tuning.trials.result import as_json, percent, summary, table
from hackathon.tuning.trials.space import LOG, Dimension
from hackathon.tuning.trials.tuner import Tuner

PLAN = TuningPlan((Dimension("lr", LOG, 0.1, 1.0),), Objective("end", "accuracy", True), "random")


def trials(*states: tuple[str, float | None, float]) -> list[Trial]:
    """Return trials from (state, value, seconds)."""
    return [
        Trial(number, {"lr": 0.1 * number}, None, Progress(state, value=value, seconds=seconds))
        for number, (state, value, seconds) in enumerate(states, 1)
    ]


def test_only_finished_trials_are_the_best() -> None:
    known = trials((FINISHED, 0.5, 10), (FINISHED, 0.9, 10), (RUNNING, 0.99, 5), (STOPPED, None, 3), (FAILED, 0.95, 1))
    found = best(known, PLAN)
    assert found is not None and found.number == 2 and best(known[2:], PLAN) is None
    assert [row[0] for row in table(PLAN, known)[1]] == ["2", "1", "3", "4", "5"]


def test_what_stopping_saved() -> None:
    known = trials(
        (FINISHED, 0.5, 100), (FINISHED, 0.9, 300), (STOPPED, None, 20), (STOPPED, None, 80), (FAILED, None, 9)
    )
    assert share_of_all(known, PLAN) == pytest.approx(500 / 800)
    assert share_of_all(trials((STOPPED, None, 3)), PLAN) is None
    # one that was stopped later than the others finished is no gain
    assert share_of_all(trials((FINISHED, 0.5, 10), (STOPPED, None, 30)), PLAN) == 1.0
    assert "62 % of the time of training all" in summary(PLAN, known)


def test_a_slow_trial_would_have_gone_on_at_its_own_pace() -> None:
    def trial(number: int, state: str, seconds: float, values: int) -> Trial:
        return Trial(number, {}, None, Progress(state, [(x + 1.0, 0.5) for x in range(values)], 0.5, seconds))

    known = [trial(1, FINISHED, 10, 20), trial(2, FINISHED, 20, 20), trial(3, STOPPED, 30, 5)]
    assert share_of_all(known, PLAN) == pytest.approx(60 / (30 + 120))
    after = replace(PLAN, objective=Objective("after", "accuracy", True, seconds=20))
    assert share_of_all(known, after) == 1.0


def test_the_chance_of_another_one_needs_some_trials() -> None:
    many = trials(*[(FINISHED, 0.5, 10.0)] * 3, *[(STOPPED, None, 1.0)] * 6, (FAILED, None, 1.0))
    assert another_better(many) == pytest.approx(1 / 10) and another_better(many[:7]) is None
    assert "P(another is better) 10 %" in summary(PLAN, many)


def test_when_all_fail_it_is_given_up() -> None:
    assert hopeless(trials(*[(FAILED, None, 1.0)] * 3)) and not hopeless(trials(*[(FAILED, None, 1.0)] * 2))
    assert not hopeless(trials(*[(FAILED, None, 1.0)] * 5, (FINISHED, 0.1, 1.0)))
    assert hopeless(trials(*[(FAILED, None, 1.0)] * 3, (RUNNING, None, 1.0)))


@pytest.mark.parametrize(("share", "text"), [(0, "0"), (0.0004, "<0.1"), (0.004, "0.4"), (0.344, "34"), (1, "100")])
def test_shares_are_short(share: float, text: str) -> None:
    assert percent(share) == text


@given(
    st.lists(st.tuples(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=5)), max_size=4),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 50)), max_size=6),
)
def test_nothing_of_a_warm_start_is_a_result_or_costs_tokens(
    former: list[tuple[float, list[float]]], mine: list[tuple[float, float]]
) -> None:
    """What a tuner says of cost, share and the best one follows from its own trials alone."""
    curves = tuple(tuple((float(x), y) for x, y in enumerate(values, 1)) for _, values in former)
    warm = WarmStart(("s",), tuple({"lr": lr} for lr, _ in former), 0, curves)
    known = [
        Trial(number, {"lr": 0.5}, None, Progress(FINISHED, value=value, seconds=9.0, used=Spent(tokens=tokens)))
        for number, (value, tokens) in enumerate(mine, 1)
    ]
    tuner = Tuner(None, PLAN, warm)  # type: ignore[arg-type]
    found = as_json("s", tuner.plan, known)
    assert found["tokens"] == (pytest.approx(sum(tokens for _, tokens in mine)) if mine else None)
    assert tokens_open(known) == 0.0 and len(found["trials"]) == len(mine)
    assert (found["best"] or {}).get("value") == max((value for value, _ in mine), default=None)
    running = Trial(9, {"lr": 0.1}, None, Progress(RUNNING, curve=((1.0, 0.1), (2.0, 0.2))))
    now = tuner.situation(running, [*known, running])
    assert now is None or now.target == max(value for value, _ in mine), "the mark is one of its own"
