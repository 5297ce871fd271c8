"""The status table, row by row; and what `status` asks, keeps and seals."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.runs import status as status_module
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.markers import Markers, read_markers
from hackathon.runs.states import STATES, RunStatus, decide
from hackathon.runs.status import status
from hackathon.runs.submit import submit
from hackathon.schedulers import runner
from hackathon.schedulers.base import OPEN_STATES, JobState
from hackathon.text import uptime
from hackathon.text.files import read_json, write_json
from support.runs import FakeScheduler, new_run, write_event

SUBMITTED = Markers(created=100.0, submitting=101.0, submitted=102.0, job_id="7")
STARTED = replace(SUBMITTED, started=110.0, claimed=True, host="a01")
ENDED_WELL = replace(STARTED, ended=120.0, exit_code=0)
ENDED_BADLY = replace(STARTED, ended=120.0, exit_code=3)


def _seen(state: str, **more: Any) -> JobState:
    return JobState(state, raw=state[:1], **more)


# ---- the table: one test a row ----
def test_ended_with_zero_is_success_without_a_question() -> None:
    found = decide(ENDED_WELL, None)
    assert (found.state, found.settled, found.exit_code) == ("SUCCEEDED", True, 0)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("TIMEOUT", "TIMEOUT"),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY"),
        ("CANCELLED", "CANCELLED"),
        ("NODE_FAILED", "NODE_FAILED"),
    ],
)
def test_ended_with_an_error_takes_the_scheduler_s_cause(word: str, state: str) -> None:
    found = decide(ENDED_BADLY, _seen(word))
    assert (found.state, found.settled) == (state, True)
    assert found.explanation


@pytest.mark.parametrize("seen", [None, _seen("FAILED"), _seen("SUCCEEDED"), _seen("FINISHED"), _seen("UNKNOWN")])
def test_ended_with_an_error_and_no_cause_is_failed(seen: JobState | None) -> None:
    found = decide(ENDED_BADLY, seen)
    assert (found.state, found.cause, found.exit_code) == ("FAILED", "exit", 3)
    assert found.settled is (seen is not None and seen.state != "UNKNOWN")


def test_ended_by_a_signal_says_so() -> None:
    found = decide(replace(ENDED_BADLY, exit_code=137, signal=9), None)
    assert (found.cause, found.explanation) == ("signal", "killed by signal 9")


@pytest.mark.parametrize("word", ["RUNNING", "ENDING"])
def test_started_and_running(word: str) -> None:
    assert decide(STARTED, _seen(word)).state == word


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (_seen("TIMEOUT"), "TIMEOUT"),
        (_seen("OUT_OF_MEMORY"), "OUT_OF_MEMORY"),
        (_seen("CANCELLED"), "CANCELLED"),
        (_seen("NODE_FAILED"), "NODE_FAILED"),
        (_seen("FAILED", exit_code=1), "FAILED"),
        (_seen("FAILED", signal=9), "FAILED"),
        (_seen("FINISHED"), "FAILED"),
        (_seen("SUCCEEDED", exit_code=0), "SUCCEEDED"),
        (_seen("FINISHED", exit_code=0), "SUCCEEDED"),
    ],
)
def test_started_and_finished_takes_that_cause(seen: JobState, state: str) -> None:
    found = decide(STARTED, seen)
    assert (found.state, found.settled) == (state, True)
    assert bool(found.cause) is (state != "SUCCEEDED")


@pytest.mark.parametrize("word", ["QUEUED", "HELD"])
def test_queued_or_held_with_reason(word: str) -> None:
    found = decide(SUBMITTED, _seen(word, reason="Resources"))
    assert (found.state, found.reason) == (word, "Resources")


def test_what_can_never_run_is_shown() -> None:
    found = decide(SUBMITTED, _seen("QUEUED", reason="too many ncpus", never_runs=True))
    assert (found.state, found.explanation) == ("QUEUED", "can never start: too many ncpus")


@pytest.mark.parametrize("word", ["FINISHED", "FAILED", "SUCCEEDED", "TIMEOUT"])
def test_finished_without_ever_starting(word: str) -> None:
    found = decide(SUBMITTED, _seen(word, started=False, reason="dependency not met"))
    assert (found.state, found.explanation) == ("FAILED", "never started: dependency not met")


def test_cancelled_while_it_waited_is_cancelled() -> None:
    assert decide(SUBMITTED, _seen("CANCELLED", started=False)).state == "CANCELLED"


def test_a_job_that_ran_and_left_no_trace_is_failed() -> None:
    assert decide(SUBMITTED, _seen("SUCCEEDED", started=True)).cause == "no_trace"


@pytest.mark.parametrize("markers", [SUBMITTED, STARTED])
def test_absent_is_lost_only_when_sure(markers: Markers) -> None:
    sure, unsure = decide(markers, None, lost=True), decide(markers, None)
    assert (sure.state, sure.settled) == ("LOST", False)
    assert unsure.state == ("RUNNING" if markers is STARTED else "QUEUED")


@pytest.mark.parametrize("markers", [SUBMITTED, STARTED])
def test_absent_after_cancel_is_cancelled(markers: Markers) -> None:
    assert decide(replace(markers, cancelled=115.0), None, lost=True).state == "CANCELLED"


def test_no_job_id_is_uncertain() -> None:
    assert decide(Markers(created=100.0, submitting=101.0), None).state == "UNCERTAIN"


def test_never_submitted_is_created() -> None:
    assert decide(Markers(created=100.0), None).state == "CREATED"


def test_refused_is_failed_with_the_scheduler_s_words() -> None:
    found = decide(Markers(created=100.0, submitting=101.0, refused="no such queue"), None)
    assert (found.state, found.cause, found.reason) == ("FAILED", "refused", "no such queue")


@pytest.mark.parametrize("word", ["QUEUED", "HELD"])
@pytest.mark.parametrize("markers", [STARTED, replace(ENDED_BADLY, exit_code=143, signal=15)])
def test_a_requeued_job_waits_again(markers: Markers, word: str) -> None:
    assert decide(markers, _seen(word)).state == word


@pytest.mark.parametrize(("markers", "state"), [(SUBMITTED, "QUEUED"), (STARTED, "RUNNING")])
def test_an_unknown_letter_stays_visible(markers: Markers, state: str) -> None:
    found = decide(markers, JobState("UNKNOWN", raw="Z"))
    assert (found.state, found.raw) == (state, "Z")


def test_running_without_markers_is_running() -> None:
    assert decide(SUBMITTED, _seen("RUNNING")).state == "RUNNING"


@pytest.mark.parametrize("seen", [None, _seen("FINISHED")])
def test_an_owner_s_cancel_explains_an_end_without_a_cause(seen: JobState | None) -> None:
    assert decide(replace(ENDED_BADLY, cancelled=115.0), seen).state == "CANCELLED"
    assert decide(replace(ENDED_BADLY, cancelled=125.0), seen).state == "FAILED"


@pytest.mark.parametrize(("word", "state"), [("SUCCEEDED", "SUCCEEDED"), ("FAILED", "FAILED"), ("TIMEOUT", "TIMEOUT")])
def test_an_adopted_job_is_what_the_scheduler_says(word: str, state: str) -> None:
    assert decide(replace(SUBMITTED, adopted=True), _seen(word, exit_code=0)).state == state


def test_every_state_of_every_answer_is_a_known_one() -> None:
    words = [*OPEN_STATES, "SUCCEEDED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAILED", "FINISHED"]
    for markers in (Markers(), SUBMITTED, STARTED, ENDED_WELL, ENDED_BADLY):
        for word in words:
            for started in (None, True, False):
                assert decide(markers, _seen(word, started=started)).state in STATES


# ---- what status asks, keeps and seals ----
class World:
    """A scheduler, runs, and a clock that a test moves."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.scheduler = FakeScheduler(folder / "spool")
        self.clock, self.ahead = time.time(), 0.0
        monkeypatch.setattr(time, "time", lambda: self.clock + self.ahead)
        monkeypatch.setattr(uptime, "uptime", lambda: self.clock)
        patiently = runner._patiently  # asks as often as ever, without the pauses between
        monkeypatch.setattr(runner, "_patiently", lambda ask, delays: patiently(ask, [0.0] * len(delays)))

    def run(self) -> RunDirectory:
        made = new_run(self.folder / "project")
        submit(made, self.scheduler)
        return made

    def look(self, *runs: RunDirectory, later: float = 31.0, **more: Any) -> list[RunStatus]:
        self.clock += later
        return status(runs, load=lambda name: self.scheduler, **more)

    def event(self, run: RunDirectory, event: str, attempt: int = 1, **more: Any) -> None:
        line = {"t": self.clock, "event": event, "attempt": attempt, "host": "a01", **more}
        write_event(run, line)
        (run.path / "claim").mkdir(exist_ok=True)
        (run.path / "claim" / "job_id").write_text(f"{run.client('submitted')['job_id']}\n")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_the_rank_that_failed_first_is_named(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    for rank, (host, later, code, signal) in enumerate([("a01", 0.4, 143, 15), ("a02", 0.1, 137, 9)]):
        ended = {"t": world.clock + later, "event": "ended", "attempt": 1, "host": host}
        write_event(run, {**ended, "exit_code": code, "signal": signal}, f"rank-{rank}")
    world.event(run, "ended", exit_code=143, signal=15)
    world.scheduler.say("1", "FAILED")
    found = world.look(run)[0]
    assert (found.state, found.first_rank, found.first_host, found.first_signal) == ("FAILED", 1, "a02", 9)
    assert "rank 1 on a02 was killed first, by signal 9" in found.explanation
    assert world.look(run)[0].explanation == found.explanation, "the sealed run says the same"


def test_a_life(world: World) -> None:
    run = world.run()
    assert world.look(run)[0].state == "QUEUED"
    world.scheduler.say("1", "RUNNING")
    world.event(run, "started")
    assert world.look(run)[0].state == "RUNNING"
    world.event(run, "ended", exit_code=0, signal=None)
    found = world.look(run)[0]
    assert (found.state, found.sealed, found.hosts) == ("SUCCEEDED", True, ("a01",))
    final = read_json(run.path / "final.json")
    assert isinstance(final, dict)
    assert final["state"] == "SUCCEEDED"
    assert final["t_created"] < final["t_submitted"] + 1 and final["t_started"] < final["t_ended"] <= final["sealed"]
    assert world.look(run)[0] == found


def test_an_answer_from_before_the_end_is_not_kept_as_one_from_after_it(world: World) -> None:
    """The cached answer said that the job waits; since then it began, ended, and nobody has asked again."""
    run = world.run()
    assert world.look(run)[0].state == "QUEUED"
    world.clock += 0.2
    world.event(run, "started")
    world.event(run, "ended", exit_code=137, signal=9)
    assert world.look(run, later=0.5)[0].state == "FAILED"
    assert world.look(run, later=0.5, ask=False)[0].state == "FAILED"


def test_success_needs_no_question(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "ended", exit_code=0, signal=None)
    world.look(run)
    assert not world.scheduler.calls("status")


def test_sealed_runs_are_never_asked_about(world: World) -> None:
    base = world.run()
    write_json(base.path / "final.json", {"state": "TIMEOUT", "cause": "walltime", "hosts": ["a01"], "later": 1})
    names = [base.path.with_name(f"20260101-000000-x-1p-{number:08d}") for number in range(1000)]
    for path in names:
        path.mkdir()
        (path / "final.json").write_bytes((base.path / "final.json").read_bytes())
    found = world.look(*find_runs(base.path.parent))
    assert {state.state for state in found} == {"TIMEOUT"} and len(found) == 1001
    assert not world.scheduler.calls("status")


def test_one_question_about_many_runs(world: World) -> None:
    runs = [world.run() for _ in range(5)]
    assert [state.state for state in world.look(*runs)] == ["QUEUED"] * 5
    assert world.scheduler.calls("status") == ["status 1 2 3 4 5"]


def test_no_question_when_told_so(world: World) -> None:
    run = world.run()
    found = world.look(run, ask=False)[0]
    assert (found.state, found.stale_seconds) == ("QUEUED", pytest.approx(31.0))
    assert not world.scheduler.calls("status")


def test_no_answer_is_stale_with_its_age(world: World) -> None:
    run = world.run()
    world.scheduler.say("1", "HELD by hand")
    assert world.look(run)[0].stale_seconds is None
    (world.scheduler.spool / "down").touch()
    found = world.look(run, later=100.0)[0]
    assert (found.state, found.reason, found.stale_seconds) == ("HELD", "by hand", pytest.approx(100.0))
    assert "does not answer" in found.problem


def test_no_answer_but_the_job_began_meanwhile(world: World) -> None:
    run = world.run()
    world.look(run)
    (world.scheduler.spool / "down").touch()
    world.clock += 10
    world.event(run, "started")
    assert world.look(run)[0].state == "RUNNING"


def test_lost_after_two_good_answers_and_found_again(world: World) -> None:
    run = world.run()
    world.scheduler.forget("1")
    assert world.look(run)[0].state == "QUEUED"
    assert world.look(run)[0].state == "QUEUED"  # 31 s after the first
    found = world.look(run)[0]
    assert (found.state, found.sealed) == ("LOST", False)
    (world.scheduler.spool / "gone-1").rename(world.scheduler.spool / "jobs" / "1")
    assert world.look(run)[0].state == "QUEUED"
    world.scheduler.forget("1")
    assert world.look(run)[0].state == "QUEUED"


def test_failed_answers_do_not_count_as_absence(world: World) -> None:
    run = world.run()
    world.scheduler.forget("1")
    assert world.look(run)[0].state == "QUEUED"
    (world.scheduler.spool / "down").touch()
    for _ in range(5):
        assert world.look(run, later=100.0)[0].state == "QUEUED"


def test_the_kept_answer_is_one_answer(world: World) -> None:
    run = world.run()
    world.scheduler.forget("1")
    for _ in range(10):
        assert world.look(run, later=6.0)[0].state == "QUEUED"
    assert len(world.scheduler.calls("status")) <= 3


def test_markers_have_the_last_word_before_lost(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run()
    world.scheduler.forget("1")
    world.look(run)
    world.look(run)
    reads: list[RunDirectory] = []

    def read(one: RunDirectory) -> Markers:
        if reads:  # the job's last lines arrive between the two reads
            world.event(one, "started")
            world.event(one, "ended", exit_code=0, signal=None)
        reads.append(one)
        return read_markers(one)

    monkeypatch.setattr(status_module, "read_markers", read)
    assert world.look(run)[0].state == "SUCCEEDED"


def test_a_job_that_ends_while_the_scheduler_is_asked_has_left_a_trace(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.run()
    world.scheduler.say("1", "SUCCEEDED")
    reads: list[RunDirectory] = []

    def read(one: RunDirectory) -> Markers:
        if reads:  # between the first look and the scheduler's answer the job began and ended
            world.event(one, "started")
            world.event(one, "ended", exit_code=0, signal=None)
        reads.append(one)
        return read_markers(one)

    monkeypatch.setattr(status_module, "read_markers", read)
    assert world.look(run)[0].state == "SUCCEEDED"


def test_an_end_that_was_seen_stays_true(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.scheduler.say("1", "NODE_FAILED")
    assert not world.look(run)[0].sealed
    world.scheduler.forget("1")
    for _ in range(4):
        found = world.look(run)[0]
    assert found.state == "NODE_FAILED"


def test_only_the_scheduler_says_that_it_ended_is_sealed_later(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.scheduler.say("1", "TIMEOUT walltime 60 s")
    found = world.look(run)[0]
    assert (found.state, found.sealed, found.settled) == ("TIMEOUT", False, True)
    assert world.look(run, later=61.0)[0].sealed


@pytest.mark.parametrize("signal", [15, None])  # None: the ranks alone were told, and the script ended with their code
def test_a_failure_waits_for_its_cause(world: World, signal: int | None) -> None:
    run = world.run()
    world.event(run, "started")
    world.scheduler.say("1", "RUNNING")
    world.look(run)
    world.event(run, "ended", exit_code=143, signal=signal)
    found = world.look(run, later=3.0)[0]
    assert (found.state, found.settled, found.sealed) == ("ENDING", False, False)  # not yet FAILED: it may be a limit
    world.scheduler.say("1", "TIMEOUT")
    assert world.look(run, later=3.0)[0].state == "TIMEOUT"


def test_a_failure_with_a_good_answer_is_sealed(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "ended", exit_code=1, signal=None)
    world.scheduler.say("1", "FAILED")
    found = world.look(run)[0]
    assert (found.state, found.exit_code, found.sealed) == ("FAILED", 1, True)


def test_a_failure_without_an_answer_is_sealed_after_ten_minutes(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "ended", exit_code=1, signal=None)
    (world.scheduler.spool / "down").touch()
    assert not world.look(run)[0].sealed
    assert not world.look(run, later=700.0, ask=False)[0].sealed
    assert world.look(run, later=1.0)[0].sealed


def test_a_requeue_runs_again(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "ended", exit_code=143, signal=15)
    world.scheduler.say("1", "QUEUED")
    assert world.look(run)[0].state == "QUEUED"
    world.scheduler.say("1", "RUNNING")
    world.event(run, "started", attempt=2)
    found = world.look(run)[0]
    assert (found.state, found.attempt, found.exit_code) == ("RUNNING", 2, None)
    world.event(run, "ended", attempt=2, exit_code=0, signal=None)
    assert (final := world.look(run)[0]).state == "SUCCEEDED" and final.attempt == 2


def test_uncertain_is_looked_for_by_name_at_most_twice_a_minute(world: World) -> None:
    run = new_run(world.folder / "project")
    run.write_client("submitting", {"t": world.clock, "pid": 1, "host": "elsewhere"})
    for _ in range(6):
        assert world.look(run, later=11.0)[0].state == "UNCERTAIN"
    assert len(world.scheduler.calls("find")) == 2
    (world.scheduler.spool / "jobs" / "5").mkdir()
    (world.scheduler.spool / "jobs" / "5" / "name").write_text(run.job_name + "\n")
    found = world.look(run)[0]
    assert (found.state, found.job_id) == ("QUEUED", "5")
    assert run.client("recovered")["job_id"] == "5"


def test_a_search_without_an_answer_found_nothing_out(world: World) -> None:
    run = new_run(world.folder / "project")
    run.write_client("submitting", {"t": world.clock, "pid": 1, "host": "elsewhere"})
    (world.scheduler.spool / "down").touch()
    assert "its job could not be searched for" in world.look(run)[0].explanation
    (world.scheduler.spool / "down").unlink()
    assert "no job of this name is found" in world.look(run)[0].explanation


def test_the_job_that_took_the_run_counts(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    (run.path / "claim" / "job_id").write_text("9\n")
    assert world.look(run)[0].job_id == "9"
    assert world.scheduler.calls("status") == ["status 9"]


def test_a_run_started_by_hand_is_not_asked_about(world: World) -> None:
    run = new_run(world.folder / "project")
    (run.path / "claim").mkdir()
    (run.path / "claim" / "job_id").write_text("by-hand.a01.77\n")
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1})
    assert world.look(run)[0].state == "RUNNING"
    assert not world.scheduler.calls("status")


def test_torn_and_foreign_lines_are_passed_over(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    with (run.path / "events" / "job.jsonl").open("ab") as stream:
        stream.write(b'[1]\n"x"\n{"event":"ended","attempt":"two"}\n\xff\xfe\n{"t":5,"event":"ended","attempt":1,"exit')
    world.scheduler.say("1", "RUNNING")
    assert world.look(run)[0].state == "RUNNING"
    assert read_markers(run).started is not None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"state": 5', b'"SUCCEEDED"'])
def test_a_broken_seal_is_no_seal(world: World, damage: bytes) -> None:
    run = world.run()
    (run.path / "final.json").write_bytes(damage)
    assert world.look(run)[0].state == "QUEUED"


@pytest.mark.parametrize("name", ["seen", "submitted", "created", "refused"])
@pytest.mark.parametrize("content", ["{}", "[]", '{"t": "soon", "state": 7, "hosts": 3, "job_id": null}', "\x00"])
def test_damaged_facts_never_raise(world: World, name: str, content: str) -> None:
    run = world.run()
    (run.path / "client" / f"{name}.json").write_text(content)
    for _ in range(4):
        assert world.look(run)[0].state in STATES


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "setresuid"), reason="needs another user")
def test_only_the_owner_writes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "ended", exit_code=0, signal=None)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    found = world.look(run)[0]
    assert (found.state, found.sealed) == ("SUCCEEDED", False)
    assert not (run.path / "final.json").exists() and not run.client("seen")


def test_a_directory_that_can_not_be_written_still_has_a_state(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run()

    def full(*words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunDirectory, "write_client", full)
    monkeypatch.setattr(status_module, "write_json", full)
    assert world.look(run)[0].state == "QUEUED"
    world.event(run, "started")
    world.event(run, "ended", exit_code=0, signal=None)
    found = world.look(run)[0]
    assert (found.state, found.sealed) == ("SUCCEEDED", False)


def test_status_is_json(world: World) -> None:
    values = world.look(world.run())[0].to_json()
    assert json.loads(json.dumps(values))["state"] == "QUEUED"


def test_an_unknown_scheduler_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    run = new_run(tmp_path / "project")
    run.write_client("submitted", {"t": 1.0, "job_id": "1", "scheduler": "fake", "cluster": "box"})
    found = status([run])[0]
    assert found.state == "QUEUED" and "fake" in found.problem


def test_an_answer_older_than_the_submission_is_no_absence(world: World) -> None:
    run = world.run()
    world.scheduler.forget("1")
    run.write_client("submitted", {**run.client("submitted"), "t": world.clock + 10_000})
    for _ in range(6):
        assert world.look(run, later=70.0)[0].state == "QUEUED"


def test_a_late_end_of_the_first_life_does_not_end_the_second(world: World) -> None:
    run = world.run()
    world.event(run, "started")
    world.event(run, "started", attempt=2)
    world.event(run, "ended", exit_code=0, signal=None)
    world.scheduler.say("1", "RUNNING")
    found = world.look(run)[0]
    assert (found.state, found.attempt) == ("RUNNING", 2)


def test_what_was_seen_before_it_was_missed_is_not_the_last_word(world: World) -> None:
    run = world.run()
    world.scheduler.say("1", "HELD by hand")
    assert world.look(run)[0].state == "HELD"
    world.scheduler.forget("1")
    assert world.look(run)[0].state == "QUEUED"
    (world.scheduler.spool / "down").touch()
    assert world.look(run)[0].state == "QUEUED"
