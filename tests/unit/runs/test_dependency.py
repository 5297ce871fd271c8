"""A run that waits for a preflight: what goes to the scheduler, and what `status` says when the preflight failed."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.runs.create import create
from hackathon.runs.dependency import FACT, JOB, dependency, finding, waits_for
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import RunStatus, status
from hackathon.runs.submit import submit
from hackathon.schedulers.base import Submission
from hackathon.text.errors import RequestError
from hackathon.text.files import write_json
from hackathon.text.messages import speaking
from support.runs import SCRIPT, FakeScheduler, project, request, write_event

TEXTS = [{"en": "torch: 2.1 on rank 1 (b)", "ja": "torch: rank 1 (b) は 2.1"}, {"en": "full", "ja": "満杯"}]


class Listening(FakeScheduler):
    """A scheduler that remembers what it was told to wait for."""

    def __init__(self, spool: Path) -> None:
        super().__init__(spool)
        self.after: list[tuple[str, str] | None] = []

    def submit_argv(self, submission: Submission) -> list[str]:
        self.after.append(submission.after)
        return super().submit_argv(submission)


@pytest.fixture
def scheduler(tmp_path: Path) -> Listening:
    return Listening(tmp_path / "spool")


@pytest.fixture
def ahead(tmp_path: Path) -> RunDirectory:
    """The preflight."""
    folder = project(tmp_path / "project")
    return create(request(folder, name="preflight"), SCRIPT, runs_folder=folder / "runs")


@pytest.fixture
def run(ahead: RunDirectory) -> RunDirectory:
    """The run that waits for it."""
    facts = {FACT: waits_for(ahead.id)}
    return create(request(ahead.path.parents[1]), SCRIPT, runs_folder=ahead.path.parent, facts=facts)


def _end(run: RunDirectory, code: int, found: int = 0, moment: float = 2.0) -> None:
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1, "host": "a"})
    write_event(run, {"t": moment, "event": "ended", "attempt": 1, "exit_code": code})
    bad = [{"check": "x", "state": "failed", "title": {"en": "versions", "ja": "版"}, "text": text} for text in TEXTS]
    fine: dict[str, Any] = {"check": "y", "state": "ok", "title": {"en": "y"}, "text": {"en": "fine"}}
    (run.path / "preflight.json").write_text(json.dumps({"findings": [fine, *bad[:found]]}))


def _look(run: RunDirectory, scheduler: FakeScheduler) -> RunStatus:
    return status([run], load=lambda name: scheduler)[0]


def test_the_scheduler_is_told_to_wait(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    job = submit(ahead, scheduler)
    submit(run, scheduler)
    assert set(scheduler.after) == {None, ("ok", job)}


def test_a_submission_that_was_cut_off_waits_all_the_same(
    run: RunDirectory, ahead: RunDirectory, scheduler: Listening
) -> None:
    job = submit(ahead, scheduler)
    run.write_client("submitting", {"t": 1.0, "pid": 0})
    submit(run, scheduler, again=True)
    assert scheduler.after[-1] == ("ok", job)


def test_a_job_that_was_named_is_waited_for_until_it_is_known_to_be_over(
    ahead: RunDirectory, scheduler: Listening
) -> None:
    """Schedulers forget jobs, and refuse a dependency on what they do not know."""
    job = submit(ahead, scheduler)

    def waits(condition: str, number: str) -> tuple[str, str] | None:
        facts = {JOB: {"condition": condition, "job_id": number}}
        return dependency(create(request(ahead.path.parents[1]), SCRIPT, runs_folder=ahead.path.parent, facts=facts))

    assert waits("any", job) == ("any", job) and waits("ok", "7") == ("ok", "7"), "of another folder"
    write_json(ahead.path / "final.json", {"state": "FAILED"})
    assert waits("any", job) is None and waits("ok", job) == ("ok", job), "the scheduler says no"
    write_json(ahead.path / "final.json", {"state": "SUCCEEDED"})
    assert waits("any", job) is None and waits("ok", job) is None and waits("ok", "7") == ("ok", "7")


def test_a_held_run_names_what_it_waits_for(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    job = submit(ahead, scheduler)

    def held(number: str) -> RunDirectory:
        facts = {JOB: {"condition": "ok", "job_id": number}}
        made = create(request(ahead.path.parents[1]), SCRIPT, runs_folder=ahead.path.parent, facts=facts)
        scheduler.say(submit(made, scheduler), "HELD")
        return made

    scheduler.say(submit(run, scheduler), "HELD by depend")
    assert _look(run, scheduler).reason == f"waiting for run {ahead.id[-8:]}"
    assert _look(held(job), scheduler).reason == f"waiting for run {ahead.id[-8:]}"
    assert _look(held("77"), scheduler).reason == "waiting for job 77"
    alone = create(request(ahead.path.parents[1]), SCRIPT, runs_folder=ahead.path.parent)
    scheduler.say(submit(alone, scheduler), "HELD by a person")
    assert _look(alone, scheduler).reason == "by a person"


def test_nothing_is_waited_for_without_a_job(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler)
    assert caught.value.id == "preflight.no_job" and ahead.id in str(caught.value)
    assert not scheduler.jobs() and not run.client("submitting")
    assert dependency(ahead) is None


def test_what_is_known_to_be_over_is_not_asked_of_the_scheduler(
    run: RunDirectory, ahead: RunDirectory, scheduler: Listening
) -> None:
    """Schedulers forget jobs, and refuse a dependency on what they do not know."""
    submit(ahead, scheduler)
    write_json(ahead.path / "final.json", {"state": "SUCCEEDED"})
    assert dependency(run) is None
    _end(ahead, 1, found=2)
    write_json(ahead.path / "final.json", {"state": "FAILED"})
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler)
    assert caught.value.id == "preflight.was_bad"
    assert "versions: torch: 2.1 on rank 1 (b) (and 1 more)" in str(caught.value)


@pytest.mark.parametrize(
    ("says", "state"),
    [("CANCELLED dependency", "CANCELLED"), ("FINISHED depend = afterok:1", "CANCELLED"), ("FAILED", "CANCELLED")],
)
def test_a_run_whose_preflight_failed_says_so(
    run: RunDirectory, ahead: RunDirectory, scheduler: Listening, says: str, state: str
) -> None:
    scheduler.say(submit(ahead, scheduler), "FAILED")
    scheduler.say(submit(run, scheduler), says)
    _end(ahead, 1, found=1)
    found = _look(run, scheduler)
    assert (found.state, found.cause) == (state, "preflight_failed")
    words = f"preflight {ahead.id[-8:]} failed: versions: torch: 2.1 on rank 1 (b)"
    assert found.explanation == f"not started: {words}"
    with speaking("ja"):
        again = _look(run, scheduler)
        assert "版: torch: rank 1 (b) は 2.1" in again.explanation and "開始されず" in again.explanation
    its = _look(ahead, scheduler)
    assert (its.state, its.reason) == ("FAILED", "versions: torch: 2.1 on rank 1 (b)")


def test_a_preflight_that_says_nothing_is_named_by_its_state(
    run: RunDirectory, ahead: RunDirectory, scheduler: Listening
) -> None:
    submit(ahead, scheduler)
    scheduler.say(submit(run, scheduler), "CANCELLED")
    _end(ahead, 1)
    assert _look(run, scheduler).reason == f"preflight {ahead.id[-8:]} failed: FAILED"
    assert finding(run) == ""


def test_what_has_other_reasons_keeps_them(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    submit(ahead, scheduler)
    job = submit(run, scheduler)
    scheduler.say(job, "CANCELLED by an operator")
    _end(ahead, 0)
    assert _look(run, scheduler).cause == "cancelled", "the preflight was good"


def test_one_s_own_cancel_is_a_cancel(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    submit(ahead, scheduler)
    scheduler.say(submit(run, scheduler), "CANCELLED")
    _end(ahead, 1, found=1)
    run.write_client("cancelled", {"t": 1.0, "by": "me"})
    assert _look(run, scheduler).cause == "cancelled"


def test_a_run_that_started_has_its_own_story(run: RunDirectory, ahead: RunDirectory, scheduler: Listening) -> None:
    submit(ahead, scheduler)
    scheduler.say(submit(run, scheduler), "CANCELLED")
    _end(ahead, 1, found=1)
    write_event(run, {"t": 3.0, "event": "started", "attempt": 1, "host": "a"})
    assert _look(run, scheduler).cause == "cancelled"


def test_a_kept_answer_is_not_used_once_the_preflight_ended(
    run: RunDirectory, ahead: RunDirectory, scheduler: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hackathon.runs.status.FRESH_AGE", 0.0)
    submit(ahead, scheduler)
    job = submit(run, scheduler)
    scheduler.say(job, "HELD Dependency")
    assert _look(run, scheduler).state == "HELD"
    scheduler.say(job, "CANCELLED")
    assert _look(run, scheduler).state == "HELD", "asked a moment ago"
    _end(ahead, 1, found=1, moment=time.time())
    assert _look(run, scheduler).cause == "preflight_failed"
