"""What a scheduler that keeps no history left in a run's folder: NQSV's file of errors, read when it forgot the job."""

import getpass
import os
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from hackathon.runs.status import status
from hackathon.runs.submit import submit
from hackathon.schedulers.base import JobState
from hackathon.schedulers.nqsv.commands import Nqsv
from hackathon.text import uptime
from support.nqsv_samples import LEFT
from support.runs import FakeScheduler, new_run, write_event

NQSV = Nqsv()
LIMIT = LEFT.splitlines()[0] + "\n\n"


class Forgetful(FakeScheduler):
    """The stand-in for a scheduler, with NQSV's way to tell an end."""

    def left_files(self, job_id: str, name: str) -> tuple[str, ...]:
        return NQSV.left_files(job_id, name)

    def parse_left(self, text: str, job_id: str) -> JobState | None:
        return NQSV.parse_left(text, job_id)


class Place:
    """A run whose job began and is not known to its scheduler any more."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scheduler = Forgetful(folder / "spool")
        self.clock = time.time()
        boot = uptime.clock()
        monkeypatch.setattr(time, "time", lambda: self.clock)
        monkeypatch.setattr(uptime, "uptime", lambda: self.clock - boot)  # time passes, no clock jumps
        self.run = new_run(folder / "project")
        submit(self.run, self.scheduler)
        self.began = self.clock
        self.event("started", deadline=self.clock + 60)
        (self.run.path / "claim").mkdir()
        (self.run.path / "claim" / "job_id").write_text("1\n")
        (self.run.path / "logs").mkdir(exist_ok=True)

    def event(self, event: str, **more: Any) -> None:
        write_event(self.run, {"t": self.clock, "event": event, "attempt": 1, "host": "a01", **more})

    def account(self, *, job_id: str = "1", ended: float = 60.0, user: str = "", name: str = "") -> str:
        """Return the recorded account with the run's facts."""
        rows = {
            "Request ID": job_id,
            "Request Name": name or self.run.job_name,
            "User Name": user or getpass.getuser(),
            "Started Request Time": self.moment(self.began),
            "Ended Request Time": self.moment(self.began + ended),
        }
        lines = LEFT.partition("\n\n")[2].splitlines(keepends=True)
        shown = [f"{line.partition(':')[0]}: {rows[key]}\n" if (key := line.partition(":")[0]) in rows else line
                 for line in lines]  # fmt: skip
        return "".join(shown)

    @staticmethod
    def moment(seconds: float) -> str:
        return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(seconds))

    def leave(self, text: str, name: str = "logs/scheduler-errors.log") -> None:
        (self.run.path / name).write_text(text)

    def look(self, later: float = 70.0, *, forget: bool = True) -> RunStatus:
        if forget and "1" in self.scheduler.jobs():
            self.scheduler.forget("1")
        self.clock += later
        return status([self.run], load=lambda name: self.scheduler)[0]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["logs/scheduler-errors.log", "{job}.e1"])
def test_time_limit_is_known_at_once(place: Place, name: str) -> None:
    place.leave(LIMIT + place.account(), name.format(job=place.run.job_name))
    found = place.look()
    assert (found.state, found.cause, found.signal) == ("TIMEOUT", "walltime", 9)
    assert "Exceeded per-req elapse time limit" in found.explanation
    assert found.t_ended is not None and abs(found.t_ended - place.began - 60) <= 1
    sealed = place.look()
    assert sealed.sealed and sealed.state == "TIMEOUT"


def test_end_without_a_reason_is_a_failure_without_a_cause(place: Place) -> None:
    place.leave(place.account(ended=20))
    found = place.look()
    assert (found.state, found.cause) == ("FAILED", "no_cause")


def test_cancelled_job_is_cancelled_at_once(place: Place) -> None:
    place.run.write_client("cancelled", {"t": place.clock + 10})
    place.leave(place.account(ended=20))
    assert place.look().state == "CANCELLED"


def test_job_that_said_its_end_is_sealed_without_waiting_for_a_cause(place: Place) -> None:
    place.clock += 5
    place.event("ended", exit_code=3, signal=None)
    assert not place.look(5).sealed, "the scheduler may still tell why"
    place.leave(place.account(ended=5))
    found = place.look(5)
    assert (found.state, found.exit_code, found.sealed) == ("FAILED", 3, True)


@pytest.mark.parametrize("wrong", ["nothing", "other job", "cut off", "earlier attempt", "too far"])
def test_what_says_nothing_about_this_life_leaves_it_open(place: Place, wrong: str) -> None:
    whole = LIMIT + place.account()
    match wrong:
        case "nothing":
            whole = "Traceback\n"
        case "other job":
            whole = LIMIT + place.account(job_id="2")
        case "cut off":
            whole = whole.rstrip().removesuffix("=")[:-59]
        case "earlier attempt":
            place.clock += 100
            place.event("started", attempt=2, deadline=place.clock + 60)
        case _:
            whole += "x" * 70_000
    place.leave(whole)
    assert place.look(5).state == "RUNNING"


def test_another_ones_job_is_not_taken(place: Place) -> None:
    place.leave(LIMIT + place.account(user="somebody-else"))
    found = place.look()
    assert found.state == "RUNNING" and "somebody-else" in found.problem


def test_scheduler_that_knows_the_job_has_the_word(place: Place) -> None:
    place.leave(LIMIT + place.account())
    place.scheduler.say("1", "RUNNING")
    assert place.look(forget=False).state == "RUNNING"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_odd_files_are_left_alone(place: Place, tmp_path: Path, kind: str) -> None:
    path = place.run.path / "logs" / "scheduler-errors.log"
    (tmp_path / "other").write_text(LIMIT + place.account())
    if kind == "link":
        Path(str(path)).symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(str(path))
    else:
        path.mkdir()
    assert place.look(5).state == "RUNNING"


def test_what_is_not_utf8_does_no_harm(place: Place) -> None:
    (place.run.path / "logs" / "scheduler-errors.log").write_bytes(b"\xff\xfe\n" + (LIMIT + place.account()).encode())
    assert place.look().state == "TIMEOUT"


def test_past_its_walltime_a_job_is_asked_about_often(place: Place) -> None:
    """A scheduler that kills at the limit leaves the job no time to say so: the kept answer would be wrong for long."""
    place.scheduler.say("1", "RUNNING")
    asked = lambda: len(place.scheduler.calls("status"))  # noqa: E731
    place.look(1, forget=False)
    place.look(20, forget=False)
    assert asked() == 1, "the answer of 20 s ago is used"
    place.look(40, forget=False)
    place.look(5, forget=False)
    assert asked() == 3


def test_runs_of_schedulers_with_history_leave_nothing(tmp_path: Path) -> None:
    made: RunDirectory = new_run(tmp_path / "project")
    assert FakeScheduler(tmp_path / "spool").left_files("1", made.job_name) == ()
