"""Chains of runs: their directories, their submission and what is left of a submission that broke off."""

import json
from pathlib import Path

import pytest

from hackathon.cli.run.segments import with_followers
from hackathon.logs.metrics import joined_series
from hackathon.runs import chain, clean
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.source import snapshot
from hackathon.runs.submit import submit_chain
from hackathon.schedulers.base import Submission
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import write_json
from support.runs import SCRIPT, FakeScheduler, append_line, project, request, write_event


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDirectory]:
    """Three segments, not submitted."""
    folder = project(tmp_path / "project")
    source = snapshot.take(folder, runs_folder=folder / "runs", in_place=False)
    return chain.create_chain(request(folder), SCRIPT, 3, runs_folder=folder / "runs", source=source)


@pytest.fixture
def scheduler(tmp_path: Path) -> FakeScheduler:
    return FakeScheduler(tmp_path / "spool")


def _begin(run: RunDirectory, **event: object) -> None:
    (run.path / "claim").mkdir()
    (run.path / "claim" / "job_id").write_text("7\n")
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1})
    if event:
        write_event(run, {"t": 2.0, "attempt": 1, **event})


def test_directories_name_each_other(runs: list[RunDirectory]) -> None:
    ids = [run.id for run in runs]
    assert [run.parent for run in runs] == [None, ids[0], ids[1]]
    assert all(chain.chain_of(run) == runs for run in runs)
    assert [(run.path / "segment").read_text() for run in runs] == [
        f"1 3 {ids[0]} \n", f"2 3 {ids[0]} {ids[0]}\n", f"3 3 {ids[0]} {ids[1]}\n"
    ]  # fmt: skip
    assert find_runs(runs[0].path.parent) == runs[::-1], "newest first is last segment first"


def test_a_run_alone_is_its_own_chain(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    from hackathon.runs.create import create

    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    assert chain.chain_of(run) == [run]
    assert chain.segment_of(run) is None
    assert chain.dependency(run) is None
    assert chain.speaking(run) == run
    assert not chain.in_use(run)
    assert "chain" not in json.loads((run.path / "request.json").read_text())


def test_submitted_one_after_the_other(runs: list[RunDirectory], scheduler: FakeScheduler) -> None:
    after = []

    class Noting(FakeScheduler):
        def submit_argv(self, submission: Submission) -> list[str]:
            after.append(submission.after)
            return super().submit_argv(submission)

    outcomes = submit_chain(runs, Noting(scheduler.spool), ("ok", "42"))
    assert scheduler.jobs() == {str(number + 1): run.job_name for number, run in enumerate(runs)}
    assert list(dict.fromkeys(after)) == [("ok", "42"), ("any", "1"), ("any", "2")]
    assert chain.dependency(runs[0]) is None
    assert chain.dependency(runs[2]) == ("any", outcomes[1].job_id)


def test_what_was_not_submitted_waits_for_its_former(runs: list[RunDirectory], scheduler: FakeScheduler) -> None:
    (scheduler.spool / "refuse").write_text("")  # see fake_scheduler.sh
    outcomes = submit_chain(runs, scheduler)
    assert outcomes[0].error is not None
    assert [(outcome.job_id, outcome.error) for outcome in outcomes[1:]] == [(None, None)] * 2
    with pytest.raises(RequestError) as caught:
        chain.dependency(runs[1])
    assert runs[0].id in str(caught.value)


def test_when_one_can_not_be_made_none_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "project")
    source = snapshot.take(folder, runs_folder=folder / "runs", in_place=False)
    from hackathon.runs import create

    made = create.create
    calls = []

    def third_fails(*words: object, **named: object) -> RunDirectory:
        calls.append(1)
        if len(calls) == 3:
            raise RequestError("runs.bad_value", what="full")
        return made(*words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(create, "create", third_fails)
    with pytest.raises(HackathonError):
        chain.create_chain(request(folder), SCRIPT, 3, runs_folder=folder / "runs", source=source)
    assert find_runs(folder / "runs") == []


def test_the_one_that_speaks_started_its_program_last(runs: list[RunDirectory]) -> None:
    assert chain.speaking(runs[2]) == runs[0]
    _begin(runs[0])
    _begin(runs[1])
    _begin(runs[2], event="skipped", why="complete")
    assert chain.speaking(runs[0]) == runs[1]
    assert chain.segment_of(runs[2]) == chain.Segment(3, 3, "complete")
    write_event(runs[2], {"t": 3.0, "event": "started", "attempt": 2})  # queued again
    assert chain.segment_of(runs[2]) == chain.Segment(3, 3)


def test_cancel_begins_with_the_last(runs: list[RunDirectory]) -> None:
    assert with_followers([runs[1]]) == [runs[2], runs[1]]
    assert with_followers(runs) == [runs[2], runs[1], runs[0]]


def test_checkpoints_stay_while_a_segment_may_need_them(runs: list[RunDirectory]) -> None:
    kept = runs[0].path / "checkpoints"
    kept.mkdir()
    (kept / "last.pt").write_text("weights")
    project_folder = runs[0].path.parents[1]
    for run in runs[:2]:
        write_json(run.path / "final.json", {"state": "TIMEOUT", "t_ended": 1.0, "sealed": 1.0})
    assert chain.in_use(runs[0])
    assert clean.candidates(project_folder, failed=True) == []
    write_json(runs[2].path / "final.json", {"state": "SUCCEEDED", "t_ended": 1.0, "sealed": 1.0})
    found = clean.output_candidates(runs[0])
    assert [candidate.path for candidate in found] == [kept / "last.pt"]
    (runs[2].path / "final.json").unlink()
    clean.remove(found, project_folder)
    assert (kept / "last.pt").exists()


def test_curves_are_joined_by_step(runs: list[RunDirectory]) -> None:
    for run, steps in zip(runs, ([1, 2, 3, 4], [3, 4, 5], []), strict=True):
        (run.path / "metrics").mkdir()
        for step in steps:
            line = {"t": 1.0, "attempt": 1, "step": step, "loss": step + runs.index(run) / 10}
            append_line(run.path / "metrics" / "rank-0.jsonl", line)
    joined = joined_series([run.path for run in runs])
    assert joined["loss"] == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.1), (4.0, 4.1), (5.0, 5.1)]
