"""The picture of shares has what its table has, and a request for help carries the shares of a run that is well."""

import json
from pathlib import Path

import pytest

from hackathon.board.post import step_time_of
from hackathon.profiling.meters import shares_of_run
from hackathon.profiling.points import run_json
from hackathon.runs.directory import RunDirectory
from hackathon.text.messages import speaking
from hackathon.web.views.shares import RANKS, rank_shares
from support.planted_steps import plant, straggler
from support.recorded_run import RecordedRun


@pytest.mark.parametrize("processes", [2, RANKS + 6])
def test_bars_fill_the_step_and_the_late_rank_is_among_them(tmp_path: Path, processes: int) -> None:
    plant(tmp_path, straggler, processes, 0.05, steps=30)
    told = run_json(shares_of_run(tmp_path, processes))
    with speaking("en"):
        (figure,) = rank_shares(told, processes)
    parts = figure.spec["datasets"]["parts"]
    bars = dict.fromkeys(each["label"] for each in parts)
    assert len(bars) == min(processes, RANKS + 1) and f"rank {processes - 1}" in bars
    for bar in bars:
        own = [each for each in parts if each["label"] == bar]
        assert own[0]["begin"] == 0 and own[-1]["end"] == pytest.approx(1, abs=0.001)
    assert [row[0] for row in figure.rows] == [f"rank {rank}" for rank in range(processes)]
    assert figure.columns[2:] == ("data", "host", "compute", "communication", "waiting", "other")
    assert f"waiting for rank {processes - 1}" in figure.alt
    assert rank_shares(None, processes) == []


def test_a_request_for_help_says_where_the_time_goes(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", 2)
    assert step_time_of(RunDirectory(run.path)) is None
    plant(run.path, straggler, 2, 0.1)
    with speaking("en"):
        found = step_time_of(RunDirectory(run.path))
    assert found is not None
    assert found.message.startswith("2 processes, 200 ms per step: compute") and "waiting for rank 1" in found.message
    assert "to try" in found.advice
    with speaking("ja"):
        assert "ランク 1 待ち" in found.spoken().message
    json.dumps(found.said)
