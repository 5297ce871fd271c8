"""Planted faults are found with their size, and healthy runs are left alone: the real Meter and the real reader."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.points import point_json, run_json
from hackathon.profiling.shares import RunShares
from support.planted_steps import FAULTS, PARTS, STRENGTHS, Step, Truth, healthy, plant

POINTS = 0.03
"""Error of a share that is allowed."""


def found(run: Path, processes: int) -> RunShares:
    shares = shares_of_run(run, processes)
    assert shares is not None
    assert [each.rank for each in shares.ranks] == list(range(processes))
    return shares


def agree(shares: RunShares, truths: list[Truth]) -> None:
    """Hold every share of every rank against what was planted, and their sum against the step."""
    for each, truth in zip(shares.ranks, truths, strict=True):
        assert each.unknown == () and each.steps == truth.steps
        parts = {part: each.share(part) for part in PARTS}
        assert parts == pytest.approx({part: truth.share(part) for part in PARTS}, abs=POINTS)
        assert sum(getattr(each, part) for part in PARTS) == pytest.approx(each.seconds, rel=0.01)


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_with_its_size(tmp_path: Path, fault: str, strength: float, processes: int) -> None:
    truths = plant(tmp_path, FAULTS[fault], processes, strength)
    shares = found(tmp_path, processes)
    agree(shares, truths)
    told = point_json([shares])
    assert told is not None
    # each of two ranks waits 10 ms in every second step of 0.12 s: that is worth no advice
    weak = fault == "imbalance" and (processes, strength) == (2, min(STRENGTHS))
    assert [each["id"] for each in told["advice"]] == ([] if weak else [fault])
    assert told["late_rank"] == (processes - 1 if fault == "straggler" else None)
    for each in told["advice"]:
        assert each["message"] and each["confirm"] and each["rank"] == told["late_rank"]


@pytest.mark.parametrize("processes", [1, 2, 4, 16])
def test_healthy_runs_give_no_advice(tmp_path: Path, processes: int) -> None:
    truths = plant(tmp_path, healthy, processes, 0.0)
    shares = found(tmp_path, processes)
    agree(shares, truths)
    told = run_json(shares)
    assert told is not None
    assert told["advice"] == [] and told["late_rank"] is None


seconds = st.floats(0.0, 0.1).map(lambda value: round(value, 5))
steps = st.builds(Step, data=seconds, host=seconds, compute=seconds, transfer=seconds, other=seconds)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), processes=st.integers(1, 4))
def test_any_steps_are_told_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, processes: int
) -> None:
    pattern = data.draw(st.lists(st.lists(steps, min_size=processes, max_size=processes), min_size=1, max_size=5))

    def plan(rank: int, step: int, processes: int, strength: float) -> Step:
        each = pattern[step % len(pattern)][rank]
        shared = pattern[step % len(pattern)][0].transfer  # a collective takes as long for all
        return Step(each.data, each.host, each.compute + 0.001, shared, each.other)

    run = tmp_path_factory.mktemp("run")
    truths = plant(run, plan, processes, 0.0, steps=40)
    shares = found(run, processes)
    agree(shares, truths)
    for each, truth in zip(shares.ranks, truths, strict=True):
        assert each.seconds == pytest.approx(sum(truth.spent.values()) / truth.steps, rel=1e-3)


def test_a_straggler_is_named_with_what_makes_it_late(tmp_path: Path) -> None:
    plant(tmp_path, lambda rank, step, *_: Step(data=0.004 + 0.06 * (rank == 1)), 4, 0.0)
    told = point_json([found(tmp_path, 4)])
    assert told is not None
    (advice,) = told["advice"]
    assert (advice["id"], advice["rank"]) == ("straggler", 1)
    assert "rank 1" in advice["message"] and "data" in advice["message"]
    assert advice["gain"] == pytest.approx(0.06 / 0.16, abs=POINTS)
