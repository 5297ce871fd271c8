"""Proposals: from the space, never twice, the same for whoever asks, and better ones from Optuna."""

import math
import sys
from dataclasses import replace
from statistics import median

import pytest

from hackathon.text.errors import RequestError
from hackathon.tuning.trials.objective import Objective
from hackathon.tuning.trials.plan import TuningPlan, options_json, options_of
from hackathon.tuning.trials.samplers import KnownTrial, grid_of, propose
from hackathon.tuning.trials.space import CHOICE, INT, LOG, Dimension

SPACE = (Dimension("lr", LOG, 1e-4, 1.0), Dimension("batch", CHOICE, choices=(16, 32)), Dimension("layers", INT, 1, 3))
PLAN = TuningPlan(SPACE, Objective("end", "loss", False), "random")


def proposals(plan: TuningPlan, count: int) -> list[dict[str, object]]:
    known: list[KnownTrial] = []
    for _ in range(count):
        found = propose(plan, known)
        if found is None:
            break
        known.append(KnownTrial(found))
    return [dict(each.settings) for each in known]


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_proposals_follow_from_the_trials_before_alone(sampler: str) -> None:
    plan = replace(PLAN, sampler=sampler)
    found = proposals(plan, 20)
    assert found == proposals(plan, 20) and len({tuple(each.items()) for each in found}) == 20
    assert found != proposals(replace(plan, seed="2"), 20)


def test_a_grid_is_every_combination_once_and_then_ends() -> None:
    plan = replace(PLAN, sampler="grid")
    found = proposals(plan, 1000)
    assert len(found) == 5 * 2 * 3 == len(grid_of(SPACE, "1"))


def test_random_draws_end_when_the_space_is_used_up() -> None:
    plan = replace(PLAN, space=SPACE[1:])
    assert sorted(tuple(each.values()) for each in proposals(plan, 50)) == [(b, n) for b in (16, 32) for n in (1, 2, 3)]


def test_without_optuna_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(RequestError) as caught:
        propose(replace(PLAN, sampler="optuna"), [])
    assert caught.value.id == "tune.no_optuna" and "wheelhouse" in (caught.value.hint or "")
    assert propose(PLAN, []) is not None


@pytest.mark.slow
def test_optuna_learns_from_the_ledger() -> None:
    pytest.importorskip("optuna")

    def late(sampler: str, seed: str) -> float:
        plan, known = replace(PLAN, sampler=sampler, seed=seed), []
        for number in range(40):
            found = propose(plan, known)
            assert found is not None
            assert 1e-4 <= float(found["lr"]) <= 1 and found["batch"] in (16, 32) and type(found["layers"]) is int
            loss = abs(math.log10(float(found["lr"])) + 2) + (found["batch"] == 16)
            state = "failed" if number == 3 else "stopped" if number == 4 else "finished"
            known.append(KnownTrial(found, None if state == "failed" else loss, state))
        assert propose(plan, known) == propose(plan, known)
        assert propose(plan, [*known, KnownTrial(known[-1].settings)]) is not None, "one that runs has no value"
        return median(each.value or 0.0 for each in known[-20:])

    learned, drawn = (sum(late(sampler, seed) for seed in "123") for sampler in ("optuna", "random"))
    assert learned < 0.8 * drawn


def test_a_plan_comes_back_from_its_record() -> None:
    plan = replace(PLAN, tokens=3.5, trials=7, concurrent=2)
    assert TuningPlan.from_json(plan.to_json()) == plan
    for broken in (
        {},
        {**plan.to_json(), "space": []},
        {**plan.to_json(), "sampler": "x"},
        {**plan.to_json(), "objective": 3},
    ):
        with pytest.raises(ValueError):
            TuningPlan.from_json(broken)


def test_options_come_back_from_their_record() -> None:
    from hackathon.jobs.request import Options

    options = Options(queue="q", parameters={"lr": "1"}, in_place=True)
    assert options_of({**options_json(options), "unknown": 1}) == options
