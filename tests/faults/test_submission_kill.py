"""SIGKILL at every step of making and submitting a run: at most one job, and none is lost."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hackathon.runs import submit as submit_module
from hackathon.runs.clean import candidates, remove
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.status import status
from hackathon.runs.submit import recover, submit
from hackathon.text import kill_points as faults
from hackathon.text.errors import RequestError
from support.injected import injected
from support.paths import ROOT, TESTS
from support.patience import PATIENCE, STRETCH, until
from support.runs import FakeScheduler, project

CHILD = """
import sys
from pathlib import Path
from support.runs import FakeScheduler, SCRIPT, request
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.submit import recover, submit
folder, verb = Path(sys.argv[1]), sys.argv[2]
scheduler = FakeScheduler(folder / "spool")
if verb == "make":
    run = create(request(folder / "project"), SCRIPT, runs_folder=folder / "runs")
    submit(run, scheduler)
elif verb == "recover":
    recover(RunDirectory(Path(sys.argv[3])), scheduler)
"""


def _child(folder: Path, *words: str, fault: str = "") -> "subprocess.Popen[bytes]":
    places = [str(TESTS), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "HACKATHON_FAULT": fault}
    return subprocess.Popen([sys.executable, "-c", CHILD, str(folder), *words], env=environment, stderr=subprocess.PIPE)


def _make(folder: Path, fault: str = "") -> int:
    child = _child(folder, "make", fault=fault)
    _, words = child.communicate(timeout=STRETCH * PATIENCE)
    injected(child.returncode == -signal.SIGKILL)
    assert child.returncode in (0, -signal.SIGKILL) or b"Error" in words, words.decode()
    return child.returncode


def _orphans_end(world: FakeScheduler) -> None:
    """Wait until no command of this scheduler runs: one may have outlived the process that was killed.

    Several looks have to agree: a process that is just executing a program shows no command line, but its folder.
    """
    deadline, word, quiet = time.monotonic() + STRETCH * PATIENCE, os.fsencode(world.spool.parent), 0
    while quiet < 6:
        running = False
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                running = running or word in path.read_bytes()
                running = running or word in os.fsencode(path.with_name("cwd").readlink())
        quiet = 0 if running else quiet + 1
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    """A scheduler whose commands have ten minutes: the usual half a minute is soon over on a machine under load."""
    monkeypatch.setenv("HACKATHON_SCHEDULER_TIMEOUT", "600")
    project(tmp_path / "project")
    return FakeScheduler(tmp_path / "spool")


def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour passes: a killed submission can not reach the scheduler any more."""
    monkeypatch.setattr(submit_module, "_settle", lambda limit: 0.0)


@pytest.mark.parametrize("step", faults.CREATE_STEPS)
def test_killed_while_the_run_is_made(tmp_path: Path, world: FakeScheduler, step: str) -> None:
    assert _make(tmp_path, step) == -signal.SIGKILL
    runs = find_runs(tmp_path / "runs")
    assert not world.jobs()
    if step == "after-rename":
        assert [state.state for state in status(runs)] == ["CREATED"]
        assert submit(runs[0], world) == "1"
        return
    assert runs == []
    partials = list((tmp_path / "runs").iterdir())
    assert len(partials) == 1 and partials[0].name.startswith(".partial-")
    assert candidates(tmp_path) == []  # younger than an hour
    found = candidates(tmp_path, now=time.time() + 7200)
    assert [candidate.path for candidate in found] == partials
    remove(found, tmp_path)
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("step", faults.SUBMIT_STEPS)
def test_killed_while_it_is_submitted(
    tmp_path: Path, world: FakeScheduler, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _make(tmp_path, step) == -signal.SIGKILL
    (run,) = find_runs(tmp_path / "runs")
    queued = step != "after-submitting"
    assert list(world.jobs().values()) == ([run.job_name] if queued else [])

    (state,) = status([run], load=lambda name: world)
    assert (state.state, state.job_id) == (("QUEUED", "1") if queued else ("UNCERTAIN", None))
    with pytest.raises(RequestError) as caught:
        submit(run, world)
    assert caught.value.id == ("runs.submitted_already" if queued else "runs.uncertain")

    _no_waiting(monkeypatch)
    if not queued:
        assert submit(run, world, again=True) == "1"
    assert list(world.jobs().values()) == [run.job_name]
    assert RunDirectory(run.path).job_id() == "1"


def test_killed_while_it_is_recovered(tmp_path: Path, world: FakeScheduler) -> None:
    _make(tmp_path, "after-scheduler")
    (run,) = find_runs(tmp_path / "runs")
    child = _child(tmp_path, "recover", str(run.path), fault="after-recovered")
    child.communicate(timeout=STRETCH * PATIENCE)
    injected()
    assert child.returncode == -signal.SIGKILL
    assert run.job_id() == "1" == recover(run, world)


def test_killed_after_a_refusal(tmp_path: Path, world: FakeScheduler) -> None:
    (world.spool / "refuse").write_text("two jobs a user")
    assert _make(tmp_path, "after-refused") == -signal.SIGKILL
    (run,) = find_runs(tmp_path / "runs")
    (state,) = status([run], load=lambda name: world)
    assert (state.state, state.cause) == ("FAILED", "refused")
    (world.spool / "refuse").unlink()
    assert submit(run, world) == "1"


def test_killed_while_the_scheduler_s_command_runs(
    tmp_path: Path, world: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command outlives its parent and queues the job later: `again` must wait for that."""
    (world.spool / "slow").touch()
    child = _child(tmp_path, "make")
    until(lambda: (world.spool / "waiting").exists() or child.poll() is not None, "the scheduler's command")
    assert child.poll() is None
    child.kill()
    injected()
    child.communicate()
    (run,) = find_runs(tmp_path / "runs")
    assert not world.jobs()
    assert status([run], load=lambda name: world)[0].state == "UNCERTAIN"
    with pytest.raises(RequestError) as caught:
        submit(run, world, again=True)
    assert caught.value.id == "runs.submitting_now"
    (world.spool / "slow").unlink()  # the orphan goes on
    _orphans_end(world)
    assert len(world.jobs()) == 1
    _no_waiting(monkeypatch)
    assert submit(run, world, again=True) == "1"
    assert list(world.jobs().values()) == [run.job_name]


@pytest.mark.parametrize("trial", [0, 3, 6])
def test_killed_at_any_moment(
    tmp_path: Path, world: FakeScheduler, trial: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = _child(tmp_path, "make")
    deadline = time.monotonic() + STRETCH * PATIENCE
    while not (tmp_path / "runs").exists() and child.poll() is None:  # until the child has come to life
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert (tmp_path / "runs").exists()  # it may have ended meanwhile
    time.sleep(0.003 * trial)
    child.kill()
    injected()
    child.communicate()
    _orphans_end(world)
    _no_waiting(monkeypatch)
    for run in find_runs(tmp_path / "runs"):
        if run.job_id() is None:
            submit(run, world, again=True)
        assert RunDirectory(run.path).job_id() == "1"
    assert list(world.jobs().values()) == [run.job_name for run in find_runs(tmp_path / "runs")]


def test_every_step_is_reached(tmp_path: Path, world: FakeScheduler) -> None:
    covered = {*faults.CREATE_STEPS, *faults.SUBMIT_STEPS, "after-reserved", "after-refused", "after-recovered"}
    covered |= {"after-trial", *faults.PUBLISH_STEPS, *faults.REPLACE_STEPS}  # test_late_kills.py
    assert covered == set(faults.STEPS)
    assert _make(tmp_path, "no-such-step") == 0
