"""No point of a study is submitted twice, whoever resumes it, and none is forgotten."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory, new_run_id
from hackathon.runs.record import StudyPoint
from hackathon.runs.states import RunStatus
from hackathon.runs.status import status
from hackathon.runs.study import (
    Point,
    Study,
    create_study,
    find_studies,
    find_study,
    held_points,
    holds,
    newest_study,
    next_points,
    pending_points,
    reserve,
    runs_of,
)
from hackathon.runs.submit import submit
from hackathon.text import uptime
from hackathon.text.errors import RequestError, UnavailableError
from support.runs import SCRIPT, FakeScheduler, project, request, write_event

POINTS = [Point(1, 1), Point(1, 2), Point(2, 1), Point(2, 2), Point(4, 1)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return _study(tmp_path)


def _study(folder: Path, name: str = "digits", now: float | None = None) -> Study:
    base = request(project(folder))
    return create_study(
        folder, name, mode="weak", metric="samples_per_s", unit="samples/s", points=POINTS, base_request=base, now=now
    )


def _run(study: Study, point: Point, run_id: str) -> RunDirectory:
    made = {"id": study.id, "processes": point.processes, "repeat": point.repeat}
    base = study.base_request()
    return create(base, SCRIPT, runs_folder=study.runs_folder, study=made, run_id=run_id)


def _states(study: Study, scheduler: FakeScheduler) -> list[RunStatus]:
    return status(runs_of(study), load=lambda name: scheduler)


def _left_behind(study: Study, point: Point, run_id: str, host: str = "elsewhere", age: float = 3600.0) -> None:
    path = study.path / "points" / point.name
    path.write_text(f"{run_id}\n{json.dumps({'host': host, 'pid': 2**22 + 1})}\n")
    os.utime(path, (time.time() - age,) * 2)


def test_the_record_has_the_agreed_shape(study: Study) -> None:
    record = json.loads((study.path / "study.json").read_text())
    assert list(record) == [
        "schema_version", "id", "name", "created", "mode", "metric", "unit", "points", "base_request", "options",
    ]  # fmt: skip
    assert record["points"][2] == {"processes": 2, "repeat": 1}
    assert record["base_request"]["cluster"] == "box"
    assert study.points() == POINTS


def test_all_points_are_pending_at_first(study: Study) -> None:
    assert next_points(study, states=[]) == POINTS
    assert runs_of(study) == []


def test_a_reserved_point_holds_its_run(study: Study) -> None:
    point, run_id = study.points()[0], new_run_id("digits", 1)
    assert reserve(study, point, run_id)
    assert (study.path / "points" / "1-1").read_text().splitlines()[0] == run_id == study.run_id(point)
    assert not reserve(study, point, new_run_id("digits", 1))
    run = _run(study, point, run_id)
    assert runs_of(study) == [run] and run.study == StudyPoint(study.id, 1, 1)
    assert holds(study, run)


def test_of_many_at_the_same_moment_one_gets_the_point(study: Study) -> None:
    got: list[str] = []
    gate = threading.Barrier(8)

    def one(run_id: str) -> None:
        gate.wait()
        if reserve(study, Point(1, 1), run_id):
            got.append(run_id)

    threads = [threading.Thread(target=one, args=(f"run-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1 and study.run_id(Point(1, 1)) == got[0]


def test_the_number_of_a_process_that_is_another_ones_by_now_holds_nothing(study: Study) -> None:
    """The one that reserved was killed, and its number belongs to a process that lives."""
    point = Point(1, 1)
    _left_behind(study, point, "dead", host=os.uname().nodename, age=0.0)
    path = study.path / "points" / "1-1"
    name, line = path.read_text().splitlines()
    who = {**json.loads(line), "pid": os.getppid()}
    path.write_text(f"{name}\n{json.dumps({**who, 'born': uptime.born(os.getppid())})}\n")
    assert point not in pending_points(study, [])
    path.write_text(f"{name}\n{json.dumps({**who, 'born': 1})}\n")
    assert point in pending_points(study, [])


def test_a_process_that_ended_and_that_nobody_waited_for_holds_nothing(study: Study) -> None:
    """PID 1 of some containers never looks after those that were left to it: they stay in the table of processes."""
    _left_behind(study, Point(1, 1), "dead", host=os.uname().nodename, age=0.0)
    path = study.path / "points" / "1-1"
    with subprocess.Popen(["sleep", "60"]) as process:
        path.write_text(f"dead\n{json.dumps({'host': os.uname().nodename, 'pid': process.pid})}\n")
        assert Point(1, 1) not in pending_points(study, []) and held_points(study) == [Point(1, 1)]
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still there
        assert Point(1, 1) in pending_points(study, []) and held_points(study) == []


@pytest.mark.parametrize("links", [True, False])
def test_one_of_many_gets_a_point(study: Study, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def no_links(*words: object, **keys: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    got = [run_id for run_id in ("one", "two", "three") if reserve(study, Point(1, 1), run_id)]
    assert got == ["one"] and study.run_id(Point(1, 1)) == "one"
    assert [path.name for path in (study.path / "points").iterdir()] == ["1-1"]


def test_a_reservation_left_behind_is_taken_over_by_one(study: Study) -> None:
    _left_behind(study, Point(1, 1), "dead-run")
    assert Point(1, 1) in pending_points(study, [])
    got: list[str] = []
    gate = threading.Barrier(8)

    def one(run_id: str) -> None:
        gate.wait()
        if reserve(study, Point(1, 1), run_id):
            got.append(run_id)

    threads = [threading.Thread(target=one, args=(f"run-{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    assert study.run_id(Point(1, 1)) == got[0]
    assert (study.path / "points" / "1-1").read_text().splitlines()[0] == got[0]


def test_a_takeover_can_be_left_behind_too(study: Study) -> None:
    _left_behind(study, Point(1, 1), "dead-one")
    assert reserve(study, Point(1, 1), "dead-two")
    later = time.time() + 3600
    assert reserve(study, Point(1, 1), "dead-three", now=later)
    assert reserve(study, Point(1, 1), "alive", now=later + 3600)
    assert study.run_id(Point(1, 1)) == "alive"


def test_a_fresh_reservation_of_another_host_is_respected(study: Study) -> None:
    _left_behind(study, Point(1, 1), "busy", age=5.0)
    assert not reserve(study, Point(1, 1), "mine")
    assert Point(1, 1) not in pending_points(study, [])


def test_a_reservation_whose_process_is_gone_is_taken_at_once(study: Study) -> None:
    _left_behind(study, Point(1, 1), "dead", host=os.uname().nodename, age=0.0)
    assert reserve(study, Point(1, 1), "mine")


def test_a_run_that_exists_is_never_taken_over(study: Study) -> None:
    point, run_id = Point(2, 1), new_run_id("digits", 2)
    reserve(study, point, run_id)
    _run(study, point, run_id)
    _left_behind(study, point, run_id)
    assert not reserve(study, point, "other", now=time.time() + 10**6)


def test_an_overtaken_run_knows_it(study: Study) -> None:
    point, run_id = Point(1, 1), new_run_id("digits", 1)
    _left_behind(study, point, run_id)
    assert reserve(study, point, "faster")
    assert not holds(study, _run(study, point, run_id))


def test_an_empty_reservation_is_one(study: Study) -> None:
    (study.path / "points" / "1-1").touch()
    assert not reserve(study, Point(1, 1), "mine")
    assert reserve(study, Point(1, 1), "mine", now=time.time() + 3600)


def test_a_run_that_was_made_and_not_submitted_is_submitted_itself(study: Study, tmp_path: Path) -> None:
    scheduler = FakeScheduler(tmp_path / "spool")
    run_id = new_run_id("digits", 1)
    reserve(study, Point(1, 1), run_id)
    run = _run(study, Point(1, 1), run_id)
    first = next_points(study, 1, states=_states(study, scheduler))[0]
    assert first.run == run and first.name == "1-1"
    (scheduler.spool / "refuse").write_text("two jobs a user")
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    assert next_points(study, 1, states=_states(study, scheduler))[0].run == run
    (scheduler.spool / "refuse").unlink()
    submit(run, scheduler)
    assert next_points(study, 5, states=_states(study, scheduler))[0].name == "1-2"


def test_no_more_than_the_limit_are_with_the_scheduler(study: Study, tmp_path: Path) -> None:
    scheduler = FakeScheduler(tmp_path / "spool")
    submitted: list[str] = []
    for _ in range(12):
        points = next_points(study, 2, states=_states(study, scheduler))
        for point in points:
            run_id = new_run_id("digits", point.processes)
            assert reserve(study, point, run_id)
            submit(_run(study, point, run_id), scheduler)
            submitted.append(point.name)
        assert sum(state.open for state in _states(study, scheduler)) <= 2
        oldest = next((state for state in _states(study, scheduler) if state.open), None)
        if oldest is not None:
            run = RunDirectory(study.runs_folder / oldest.run_id)
            line = {"t": time.time(), "event": "ended", "attempt": 1, "exit_code": 0, "signal": None}
            write_event(run, line)
    assert submitted == [point.name for point in POINTS]
    assert next_points(study, states=_states(study, scheduler)) == []


def test_an_unknown_end_of_a_submission_is_not_pending_and_counts(study: Study, tmp_path: Path) -> None:
    scheduler = FakeScheduler(tmp_path / "spool")
    run_id = new_run_id("digits", 1)
    reserve(study, Point(1, 1), run_id)
    run = _run(study, Point(1, 1), run_id)
    run.write_client("submitting", {"t": time.time(), "pid": 0})
    states = _states(study, scheduler)
    assert [state.state for state in states] == ["UNCERTAIN"]
    assert [point.name for point in next_points(study, 2, states=states)] == ["1-2"]


def test_failed_points_are_data_and_not_pending(study: Study, tmp_path: Path) -> None:
    run_id = new_run_id("digits", 1)
    reserve(study, Point(1, 1), run_id)
    _run(study, Point(1, 1), run_id)
    states = [RunStatus(run_id=run_id, state="FAILED", cause="exit", exit_code=1)]
    assert Point(1, 1) not in pending_points(study, states)


def test_killed_between_reservation_and_run_is_taken_up(study: Study, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hackathon.runs.study import *;"
        "reserve(Study(Path(sys.argv[1])), Point(1, 1), 'never-made')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(study.path)], env={**os.environ, "HACKATHON_FAULT": "after-reserved"}
    )
    assert done.returncode == -9
    assert study.run_id(Point(1, 1)) == "never-made"
    assert pending_points(study, [])[0] == Point(1, 1)
    assert reserve(study, Point(1, 1), "second")


def test_killed_while_it_reserves_a_process_holds_nothing(study: Study) -> None:
    code = (
        "import os, sys; from pathlib import Path; from hackathon.runs.study import *;"
        "os.link = lambda *words, **keys: os.kill(os.getpid(), 9);"
        "reserve(Study(Path(sys.argv[1])), Point(1, 1), 'never-made')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(study.path)]).returncode == -9
    assert study.run_id(Point(1, 1)) is None
    assert pending_points(study, [])[0] == Point(1, 1)
    assert reserve(study, Point(1, 1), "second")


def test_studies_are_found_like_runs(tmp_path: Path) -> None:
    first, second = _study(tmp_path, now=1_700_000_000.0), _study(tmp_path, "手書き", now=1_700_000_100.0)
    assert find_studies(tmp_path) == [second, first] and newest_study(tmp_path) == second
    assert find_study("digits", tmp_path) == first and find_study(second.id[-8:], tmp_path) == second
    assert second.record()["name"] == "手書き"
    assert find_study("nothing", tmp_path, exact=False) is None
    with pytest.raises(RequestError):
        find_study("nothing", tmp_path)
    with pytest.raises(RequestError):
        find_study("-", tmp_path)


def test_no_study_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError):
        newest_study(tmp_path)
    with pytest.raises(RequestError):
        Study(tmp_path / "studies" / "none").record()


def test_a_study_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "studies").write_text("in the way")
    with pytest.raises(UnavailableError):
        _study(tmp_path)


def test_whoever_judged_before_another_s_takeover_gets_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    _left_behind(study, Point(1, 1), "dead-run")
    judged = study._reservation(Point(1, 1))
    assert reserve(study, Point(1, 1), "faster")
    with monkeypatch.context() as patched:
        patched.setattr(Study, "_reservation", lambda self, point: judged)
        assert not reserve(study, Point(1, 1), "slower")
    assert study.run_id(Point(1, 1)) == "faster"
