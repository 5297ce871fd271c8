"""Warm start: what is taken of former studies, what is left out, and that none of it counts as a result."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.jobs.request import Request
from hackathon.tuning.trials.former import (
    FIRST,
    MOST_POINTS,
    NOTHING,
    FormerTrial,
    WarmStart,
    contains,
    former_studies,
    shortened,
    warm_start,
)
from hackathon.tuning.trials.objective import AFTER, END, Objective
from hackathon.tuning.trials.plan import TuningPlan
from hackathon.tuning.trials.samplers import KnownTrial, propose
from hackathon.tuning.trials.space import CHOICE, INT, LOG, Dimension
from support.runs import request
from support.tuning_study import RecordedTrial, recorded_study

LR = Dimension("lr", LOG, 1e-3, 1.0)
PLAN = TuningPlan((LR,), Objective(END, "accuracy", True), "random", trials=5)
CURVES = {0.5: (0.2, 0.6, 0.7), 0.1: (0.3, 0.8, 0.9), 0.01: (0.2, 0.4, 0.8)}
TRIALS = [RecordedTrial({"lr": lr}, curve) for lr, curve in CURVES.items()]


def taken(folder: Path, plan: TuningPlan = PLAN, **changes: Any) -> WarmStart:
    asked = request(folder, name="digits", walltime=3600, parameters={"lr": 0.3, "epochs": 3}, **changes)
    return warm_start(former_studies(folder), plan, asked)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recorded_study(tmp_path, PLAN, TRIALS, parameters={"lr": 0.5, "epochs": 3})
    return tmp_path


def test_the_best_configurations_come_first_and_curves_are_taken(folder: Path) -> None:
    found = taken(folder)
    assert [each["lr"] for each in found.configurations] == [0.1, 0.01, 0.5] and found.outside == 0
    assert len(found.studies) == 1 and {each[-1] for each in found.curves} == {(3.0, 0.9), (3.0, 0.8), (3.0, 0.7)}
    assert FormerTrial({"lr": 0.1}, 0.9) in found.trials
    order = []
    for _ in range(4):
        chosen = propose(PLAN, [KnownTrial(each) for each in order], found.configurations)
        assert chosen is not None
        order.append(chosen)
    assert [each["lr"] for each in order[:3]] == [0.1, 0.01, 0.5] and order[3] not in order[:3]


def test_values_out_of_the_present_space_are_left_out(folder: Path) -> None:
    found = taken(folder, replace(PLAN, space=(replace(LR, high=0.05),)))
    assert [dict(each) for each in found.configurations] == [{"lr": 0.01}] and found.outside == 2
    assert {each.settings["lr"] for each in found.trials} == {0.01} and len(found.curves) == 3, "a curve is a curve"


@pytest.mark.parametrize(
    ("plan", "changes"),
    [
        (replace(PLAN, space=(LR, Dimension("batch", INT, 1, 4))), {}),
        (replace(PLAN, objective=Objective(END, "loss", False)), {}),
        (PLAN, {"name": "other"}),
        (PLAN, {"recipe": "torch-ddp"}),
    ],
)  # fmt: skip
def test_other_programs_spaces_and_metrics_are_not_former_ones(
    folder: Path, plan: TuningPlan, changes: dict[str, Any]
) -> None:
    asked = replace(request(folder, name="digits", parameters={"lr": 0.3, "epochs": 3}), **changes)
    assert warm_start(former_studies(folder), plan, asked) == NOTHING


def test_curves_of_another_length_or_objective_say_nothing_here(folder: Path) -> None:
    def without_results(plan: TuningPlan, asked: Request) -> None:
        found = warm_start(former_studies(folder), plan, asked)
        assert len(found.configurations) == 3 and not found.curves and not found.trials

    asked = request(folder, name="digits", parameters={"lr": 0.3, "epochs": 3})
    without_results(PLAN, replace(asked, parameters={"lr": 0.3, "epochs": 4}))
    without_results(PLAN, replace(asked, processes=2))
    without_results(replace(PLAN, objective=Objective(AFTER, "accuracy", True, 60.0)), asked)


def test_times_of_another_machine_say_nothing_here(tmp_path: Path) -> None:
    plan = replace(PLAN, objective=Objective(AFTER, "accuracy", True, 25.0))
    recorded_study(tmp_path, plan, TRIALS, parameters={"lr": 0.5, "epochs": 3})
    assert len(taken(tmp_path, plan).curves) == 3
    assert not taken(tmp_path, plan, cluster="other").curves and taken(tmp_path, plan, cluster="other").configurations


def test_stopped_trials_and_the_study_itself_are_no_former_results(tmp_path: Path) -> None:
    stopped = [RecordedTrial({"lr": 0.2}, (0.9, 0.99), stopped=0.01), *TRIALS[:1]]
    study = recorded_study(tmp_path, PLAN, stopped, parameters={"lr": 0.5, "epochs": 3})
    assert [dict(each) for each in taken(tmp_path).configurations] == [{"lr": 0.5}]
    assert former_studies(tmp_path, study.id) == []


def test_of_several_studies_each_has_a_say_and_the_newest_the_first(folder: Path) -> None:
    later = [RecordedTrial({"lr": lr}, (0.1, 0.2, value)) for lr, value in ((0.3, 0.4), (0.4, 0.3), (0.1, 0.1))]
    new = recorded_study(folder, PLAN, later, number=1, parameters={"lr": 0.5, "epochs": 3})
    found = taken(folder)
    assert found.studies[0] == new.id and len(found.configurations) == FIRST
    assert [each["lr"] for each in found.configurations] == [0.3, 0.1, 0.4]


def test_a_study_of_anybody_is_only_data(folder: Path) -> None:
    (study,) = (folder / "studies").iterdir()
    record = json.loads((study / "study.json").read_text())
    for broken in ({"options": 3}, {"base_request": None}, {"kind": []}, {"options": {"tune": {"space": [{}]}}}):
        (study / "study.json").write_text(json.dumps({**record, **broken}))
        assert taken(folder) == NOTHING
    (study / "study.json").write_text("[" * 100_000)
    assert taken(folder) == NOTHING


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["studies", "configurations", "curves", "trials", "outside"])


@given(st.dictionaries(NAMES, JSON) | JSON)
def test_no_record_of_a_warm_start_breaks_the_reader(value: object) -> None:
    found = WarmStart.from_json(value, PLAN.space)
    assert all(contains(PLAN.space, each) for each in found.configurations)
    assert WarmStart.from_json(json.loads(json.dumps(found.to_json())), PLAN.space) == found


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=2000))
def test_long_curves_keep_their_end(values: list[float]) -> None:
    curve = [(float(number), value) for number, value in enumerate(values, 1)]
    kept = shortened(curve)
    assert len(kept) <= MOST_POINTS and kept[-1][0] == len(values) and {x for x, _ in kept} <= {x for x, _ in curve}


@pytest.mark.parametrize(
    ("dimension", "value", "inside"),
    [
        (LR, 0.5, True), (LR, 1, True), (LR, 2.0, False), (LR, True, False), (LR, "0.5", False), (LR, None, False),
        (Dimension("lr", INT, 1, 4), 4, True), (Dimension("lr", INT, 1, 4), 2.0, False),
        (Dimension("lr", CHOICE, choices=(True, "a")), True, True),
        (Dimension("lr", CHOICE, choices=(True, "a")), 1, False),
    ],
)  # fmt: skip
def test_a_value_is_of_the_space_or_not(dimension: Dimension, value: Any, inside: bool) -> None:
    assert contains((dimension,), {"lr": value}) == inside
    assert not contains((dimension,), {"lr": value, "other": 1}) and not contains((dimension,), {})
