"""The clock of the day jumps by hours, as when a machine is corrected: nothing is LOST, sent twice, or begun twice.

The clock is moved in this process; the seconds since the machine started go on as they are.
"""

import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.board.board import Board, find_post, read_board, reply
from hackathon.board.directory import make_place
from hackathon.board.entry import Entry
from hackathon.board.people import People
from hackathon.board.standup import morning_round
from hackathon.board.store import write_entry
from hackathon.cli.main import run as hackathon
from hackathon.notify.outbox import ABANDONED, Sent, gather
from hackathon.runs import status as status_module
from hackathon.runs import study as study_module
from hackathon.runs.cancel import cancel
from hackathon.runs.directory import RunDirectory
from hackathon.runs.lives import OVER, RunUse
from hackathon.runs.states import STATES, RunStatus
from hackathon.runs.status import status
from hackathon.runs.submit import submit
from hackathon.schedulers import cache, runner
from hackathon.schedulers.local import slots
from hackathon.text import uptime
from hackathon.text.errors import RequestError
from support.injected import injected
from support.runs import FakeScheduler, new_run, write_event
from support.samples.runs import one_run

HOUR = 3600.0
JUMPS = (3 * HOUR, -3 * HOUR, 26 * HOUR, -26 * HOUR)


class Clocks:
    """The clock of the day, which a test lets jump, and the machine's own, which goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        real, started = time.time, uptime.uptime
        self.ahead = self.passed = 0.0
        monkeypatch.setattr(time, "time", lambda: real() + self.ahead + self.passed)
        for module in (uptime, slots):
            monkeypatch.setattr(module, "uptime", lambda: started() + self.passed)

    def jump(self, seconds: float) -> None:
        """Set the clock of the day."""
        injected()
        self.ahead += seconds

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.passed += seconds

    def stop(self) -> None:
        """Let no time pass from now on but by `wait`, however slow this machine is."""
        moment = time.time() - self.ahead - self.passed
        self._patch.setattr(time, "time", lambda: moment + self.ahead + self.passed)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    patiently = runner._patiently
    monkeypatch.setattr(runner, "_patiently", lambda ask, delays: patiently(ask, [0.0] * len(delays)))
    return FakeScheduler(tmp_path / "spool")


def look(run: RunDirectory, scheduler: FakeScheduler) -> RunStatus:
    (found,) = status([run], load=lambda name: scheduler)
    return found


def submitted(folder: Path, scheduler: FakeScheduler) -> RunDirectory:
    run = new_run(folder / "project")
    submit(run, scheduler)
    return run


def event(run: RunDirectory, kind: str, moment: float, attempt: int = 1, **more: Any) -> None:
    write_event(run, {"t": moment, "event": kind, "attempt": attempt, "host": "a01", **more})


# ---- runs


@pytest.mark.parametrize("jump", JUMPS)
def test_a_job_that_is_missed_for_a_moment_is_not_lost(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, jump: float
) -> None:
    """Two answers without the job, seconds apart: the clock between them says hours."""
    run = submitted(tmp_path, scheduler)
    clocks.wait(40)
    assert look(run, scheduler).state == "QUEUED"
    scheduler.forget("1")
    clocks.wait(31)
    assert look(run, scheduler).state == "QUEUED"
    clocks.jump(jump)
    for _ in range(2):
        clocks.wait(3)
        runner.forget(scheduler, "box", ["1"])
        assert look(run, scheduler).state == "QUEUED"
    clocks.jump(-jump)
    clocks.wait(3)
    assert look(run, scheduler).state == "QUEUED"
    # it is LOST all the same once two answers are a minute apart
    for _ in range(3):
        clocks.wait(61)
        found = look(run, scheduler)
    assert found.state == "LOST"


@pytest.mark.parametrize("jump", JUMPS)
def test_the_cause_of_a_failure_is_waited_for(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, jump: float
) -> None:
    run = submitted(tmp_path, scheduler)
    event(run, "started", time.time())
    scheduler.say("1", "RUNNING")
    assert look(run, scheduler).state == "RUNNING"
    clocks.wait(40)
    event(run, "ended", time.time(), exit_code=143, signal=15)
    assert look(run, scheduler).state == "ENDING"
    clocks.jump(jump)
    clocks.wait(5)
    found = look(run, scheduler)
    assert (found.state, found.sealed) == ("ENDING", False)
    scheduler.say("1", "TIMEOUT walltime")
    clocks.wait(31)
    found = look(run, scheduler)
    assert (found.state, found.cause) == ("TIMEOUT", "walltime")


@pytest.mark.parametrize("jump", JUMPS)
def test_a_job_that_goes_on_stays_what_it_is(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, jump: float
) -> None:
    run = submitted(tmp_path, scheduler)
    scheduler.say("1", "RUNNING")
    clocks.wait(40)
    event(run, "started", time.time())
    assert look(run, scheduler).state == "RUNNING"
    clocks.jump(jump)
    for ask in (True, False, True):
        clocks.wait(31)
        (found,) = status([run], ask=ask, load=lambda name: scheduler)
        assert found.state == "RUNNING" and (found.stale_seconds or 0.0) >= 0.0
    event(run, "ended", time.time(), exit_code=0, signal=None)
    found = look(run, scheduler)
    assert (found.state, found.sealed) == ("SUCCEEDED", True)


@pytest.mark.parametrize("ahead", JUMPS)
def test_the_clock_of_a_node_decides_nothing(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, ahead: float
) -> None:
    """What the scheduler says now is newer than markers that were read before, whatever the node's clock says."""
    run = submitted(tmp_path, scheduler)
    injected()
    event(run, "started", time.time() + ahead)
    scheduler.say("1", "RUNNING")
    assert look(run, scheduler).state == "RUNNING"
    scheduler.say("1", "QUEUED requeued")
    clocks.wait(31)
    assert look(run, scheduler).state == "QUEUED"
    event(run, "started", time.time() + ahead, attempt=2)
    # nobody answers: what was said of the first attempt says nothing about the second
    (found,) = status([run], ask=False)
    assert (found.state, found.attempt) == ("RUNNING", 2)
    scheduler.say("1", "NODE_FAILED")
    clocks.wait(31)
    assert look(run, scheduler).state == "NODE_FAILED"


@pytest.mark.parametrize("ahead", JUMPS)
def test_a_cancelled_job_counts_as_cancelled(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, ahead: float
) -> None:
    run = submitted(tmp_path, scheduler)
    event(run, "started", time.time())
    scheduler.say("1", "RUNNING")
    assert cancel(run, scheduler)
    injected()
    event(run, "ended", time.time() + ahead, exit_code=143, signal=15)
    scheduler.say("1", "FINISHED")
    clocks.wait(31)
    assert look(run, scheduler).state == "CANCELLED"


@pytest.mark.parametrize("jump", JUMPS)
def test_the_scheduler_is_asked_no_more_often(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, jump: float
) -> None:
    """A run that has just ended is asked about every two seconds; one that ends in three hours is not."""
    run = submitted(tmp_path, scheduler)
    event(run, "started", time.time())
    scheduler.say("1", "RUNNING")
    event(run, "ended", time.time(), exit_code=1, signal=None)
    clocks.jump(jump)
    look(run, scheduler)
    before = len(scheduler.calls("status"))
    clocks.stop()  # the answer is kept for 30 s
    for _ in range(8):
        clocks.wait(3)
        look(run, scheduler)
    assert len(scheduler.calls("status")) == before


@pytest.mark.parametrize("jump", JUMPS)
def test_kept_answers_are_forgotten(tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, jump: float) -> None:
    run = submitted(tmp_path, scheduler)
    assert look(run, scheduler).state == "QUEUED"
    scheduler.say("1", "RUNNING")
    clocks.jump(jump)
    assert look(run, scheduler).state == "RUNNING"
    kept = cache.read(cache.cache_file("fake", "box"), time.time(), status_module.MAX_AGE)
    assert list(kept) == ["1"]


def test_a_cut_off_submission_is_not_repeated_too_early(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of a killed submission may still reach the scheduler, for half a minute of this machine's time."""
    run = new_run(tmp_path / "project")

    def killed(*words: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner, "submit", killed)
        with pytest.raises(KeyboardInterrupt):
            submit(run, scheduler)
    for jump in (3 * HOUR, -26 * HOUR):
        clocks.jump(jump)
        with pytest.raises(RequestError) as caught:
            submit(run, scheduler, again=True)
        assert caught.value.id == "runs.submitting_now"
    clocks.wait(60)
    assert submit(run, scheduler, again=True) == "1"


@pytest.mark.parametrize("jump", JUMPS)
def test_a_point_that_is_being_submitted_is_not_taken_over(tmp_path: Path, clocks: Clocks, jump: float) -> None:
    path = tmp_path / "1"
    path.write_text(study_module._reservation_text("run"))
    held = study_module._read_reservation(path)
    assert held is not None and held[1]["pid"] == os.getpid()
    study = study_module.Study(tmp_path / "studies" / "one")
    clocks.jump(jump)
    assert not study_module._abandoned(study, held, None)
    clocks.wait(study_module.LIVE + 1)
    assert study_module._abandoned(study, held, None)


# ---- lives and durations

_moments = st.floats(1e9, 3e9) | st.floats(0, 1e6)
_ends = st.none() | _moments


@settings(max_examples=60)
@given(
    attempts=st.lists(st.tuples(_moments, _ends), max_size=4),
    state=st.sampled_from(STATES),
    walltime=st.integers(0, 10**6),
    missed=_ends,
    now=_moments,
)
def test_no_life_is_negative_or_longer_than_it_can_be(
    attempts: list[tuple[float, float | None]], state: str, walltime: int, missed: float | None, now: float
) -> None:
    use = RunUse(
        "run", "box", "fake", "1", "aurora", 0, 2, 4, 4, walltime, 0.0, state=state, attempts=tuple(attempts),
        missed=missed,
    )  # fmt: skip
    found = use.held(now)
    for life in found.lives:
        assert life.seconds >= 0.0 and life.end >= life.start and math.isfinite(life.seconds)
        assert not walltime or life.seconds <= walltime + OVER
    assert found.still(walltime) >= 0.0


@pytest.mark.slow
def test_no_command_shows_a_negative_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose end lies before its start, and one that was made tomorrow."""
    injected(2)
    project = tmp_path / "project"
    backwards = one_run(project, "FAILED", 1)
    (backwards / "final.json").unlink(missing_ok=True)
    events = backwards / "events" / "job.jsonl"
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    for line in lines:
        line["t"] += -3 * HOUR if line["event"] == "ended" else 0.0
        line["exit_code"] = 1
    events.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    later = one_run(project, "RUNNING", 2)
    for path in (*later.glob("client/*.json"), *later.glob("events/*.jsonl")):
        text = path.read_text()
        path.write_text(re.sub(r'"t": ?[0-9.]+', f'"t": {time.time() + 26 * HOUR}', text))
    monkeypatch.chdir(project)
    for words in (
        ("status", "--all", "--no-ask"), ("status", "--all", "--no-ask", "--json"), ("results",),
        ("top", "--once", "--no-ask"), ("logs", later.name), ("show", later.name),
    ):  # fmt: skip
        assert hackathon(list(words)) in (0, 1, 2), words
        said = capsys.readouterr().out
        assert not re.search(r"(?<![\w.:-])-\d+(\.\d+)? ?(s|min|h|d)\b", said), (words, said)
        for value in re.findall(r'"(?:stale_seconds|seconds|age|duration|elapsed)": (-?[0-9.]+)', said):
            assert float(value) >= 0.0, (words, said)


# ---- local jobs


@pytest.mark.parametrize("jump", JUMPS)
def test_slots_of_running_jobs_stay_taken(tmp_path: Path, clocks: Clocks, jump: float) -> None:
    first, second = slots.Ticket(tmp_path, 2), slots.Ticket(tmp_path, 1)
    assert first.join() and first.start(2) and second.join()
    clocks.jump(jump)
    assert not second.start(2)
    assert slots.counts(tmp_path) == (1, 1)
    # its supervisor sees the jump at its next look, four times a second, and touches the place
    first.touch()
    os.utime(first._file, (time.time(), time.time()))
    clocks.wait(slots.DOUBTED + 1)
    assert not second.start(2)
    first.leave()
    assert second.start(2)
    second.leave()


def test_supervisors_see_that_the_clock_jumped(clocks: Clocks) -> None:
    before = uptime.clock()
    clocks.wait(HOUR)
    assert abs(uptime.clock() - before) < slots.JUMPED
    clocks.jump(-HOUR)
    assert abs(uptime.clock() - before) > slots.JUMPED


# ---- notifications


@pytest.mark.parametrize("jump", JUMPS)
def test_what_a_relay_is_sending_is_not_sent_by_another(tmp_path: Path, clocks: Clocks, jump: float) -> None:
    sent = Sent(tmp_path)
    assert sent.claim("run:1", time.time())
    clocks.jump(jump)
    assert not Sent(tmp_path).claim("run:1", time.time())
    clocks.wait(ABANDONED + 1)  # that relay died
    assert Sent(tmp_path).claim("run:1", time.time())


def test_a_pause_ends_although_the_clock_was_set_back(tmp_path: Path, clocks: Clocks) -> None:
    sent = Sent(tmp_path)
    sent.pause(time.time() + 30, 1, time.time())
    assert sent.paused(time.time())[0] > time.time()
    clocks.jump(-3 * HOUR)
    until, failures = sent.paused(time.time())
    assert until <= time.time() and failures == 1


def test_the_news_after_a_correction_are_told(tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks) -> None:
    """Notifications were switched on while the clock was three hours ahead."""
    since = time.time() + 3 * HOUR
    injected()
    run = submitted(tmp_path, scheduler)
    event(run, "started", time.time())
    event(run, "ended", time.time(), exit_code=0, signal=None)
    clocks.wait(60)
    assert [each.kind for each in gather(Sent(tmp_path), [run], None, since=since)] == ["run-ended"]


# ---- board


@pytest.mark.parametrize("jump", JUMPS)
def test_what_became_of_a_post_is_known(tmp_path: Path, clocks: Clocks, jump: float) -> None:
    place, _ = make_place(tmp_path / "event", "sticky")

    def read() -> Board:
        return read_board(place, People(None))

    post = write_entry(place, Entry("", "post", 0.0, place.board, text="the job hangs"))
    clocks.jump(jump)
    answer = reply(read(), find_post(read(), post.entry.id), "answer", "so does mine")
    solved = reply(read(), find_post(read(), post.entry.id), "solve", "mend the network")
    found = find_post(read(), post.entry.id)
    assert found.state == "solved" and found.solved is not None and found.solved.id == solved.entry.id
    assert [each.id for each in found.answers] == [answer.entry.id]
    morning = morning_round(read())
    assert found.id not in [each.id for each in morning.waiting if not each.solved]


def test_an_answer_is_kept_with_how_far_the_job_had_come(
    tmp_path: Path, scheduler: FakeScheduler, clocks: Clocks
) -> None:
    run = submitted(tmp_path, scheduler)
    look(run, scheduler)
    kept = run.client("seen")
    assert (kept["attempt"], kept["stage"]) == (1, 3)
    assert kept["boot"] == uptime.boot()
    assert uptime.jumped(kept) == 0.0
    clocks.jump(3 * HOUR)
    assert uptime.jumped(kept) == pytest.approx(3 * HOUR, abs=1.0)
    clocks.jump(-4 * HOUR)
    assert uptime.jumped(kept) == 0.0
