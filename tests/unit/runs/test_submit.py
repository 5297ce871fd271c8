"""A run is submitted once, whatever happens on the way."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hackathon.runs import submit as submit_module
from hackathon.runs.directory import RunDirectory
from hackathon.runs.submit import SETTLE, recover, submit, submit_many
from hackathon.schedulers.base import SchedulerError
from hackathon.schedulers.local.commands import Local
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.uptime import uptime
from support.paths import ROOT
from support.patience import until
from support.runs import FakeScheduler, new_run


@pytest.fixture
def scheduler(tmp_path: Path) -> FakeScheduler:
    return FakeScheduler(tmp_path / "spool")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path / "project")


def _long_ago(run: RunDirectory, name: str = "submitting") -> None:
    """Move an attempt to submit into the past, as if its process had died an hour ago."""
    run.write_client(name, {**run.client(name), "t": time.time() - 3600, "up": uptime() - 3600, "pid": 0})


def test_submission_leaves_a_fact_before_and_after(run: RunDirectory, scheduler: FakeScheduler) -> None:
    job_id = submit(run, scheduler)
    assert scheduler.jobs() == {job_id: run.job_name}
    assert run.client("submitting")["name"] == run.job_name
    assert run.client("submitting")["argv"][-1] == run.job_name
    assert run.client("submitted")["job_id"] == job_id == run.job_id()
    assert (run.client("submitted")["cluster"], run.client("submitted")["scheduler"]) == ("box", "fake")


def test_second_submission_is_refused(run: RunDirectory, scheduler: FakeScheduler) -> None:
    job_id = submit(run, scheduler)
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler, again=True)
    assert job_id in str(caught.value)
    assert len(scheduler.jobs()) == 1


def test_of_many_at_the_same_moment_one_wins(run: RunDirectory, scheduler: FakeScheduler) -> None:
    outcomes: list[str] = []
    gate = threading.Barrier(8)

    def one() -> None:
        gate.wait()
        try:
            outcomes.append(submit(RunDirectory(run.path), scheduler))
        except RequestError as error:
            outcomes.append(error.id)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scheduler.jobs()) == 1
    assert sum(outcome.isdigit() for outcome in outcomes) == 1


def test_a_lost_answer_is_found_by_name(run: RunDirectory, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "silent").touch()
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    assert run.job_id() is None
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler)
    assert caught.value.id == "runs.uncertain"
    (scheduler.spool / "silent").unlink()
    assert recover(run, scheduler) == "1"
    assert run.client("recovered")["job_id"] == "1" == run.job_id()


def test_again_takes_the_job_that_is_there(run: RunDirectory, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "silent").touch()
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    (scheduler.spool / "silent").unlink()
    _long_ago(run)
    assert submit(run, scheduler, again=True) == "1"
    assert len(scheduler.jobs()) == 1


def test_again_submits_only_when_nothing_is_found_and_time_has_passed(
    run: RunDirectory, scheduler: FakeScheduler
) -> None:
    (scheduler.spool / "down").touch()
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler, again=True)
    assert caught.value.id == "runs.submitting_now"
    _long_ago(run)
    with pytest.raises(UnavailableError):  # it can not be looked for: not submitted either
        submit(run, scheduler, again=True)
    (scheduler.spool / "down").unlink()
    assert submit(run, scheduler, again=True) == "1"
    assert scheduler.calls("find")
    assert run.submitting()[0] == 2


def test_a_refusal_is_known_and_can_be_repeated(run: RunDirectory, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "refuse").write_text("limit of 2 jobs per user\n")
    with pytest.raises(SchedulerError):
        submit(run, scheduler)
    assert "limit of 2 jobs" in run.client("refused")["message"]
    (scheduler.spool / "refuse").unlink()
    assert submit(run, scheduler) == "1"


def test_an_attempt_in_progress_elsewhere_blocks(run: RunDirectory, scheduler: FakeScheduler) -> None:
    run.write_client("submitting", {"t": time.time() - 300, "pid": os.getppid(), "host": os.uname().nodename})
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler, again=True)
    assert caught.value.id == "runs.submitting_now"
    assert not scheduler.jobs()


def test_an_empty_fact_counts_as_an_attempt(run: RunDirectory, scheduler: FakeScheduler) -> None:
    (run.path / "client" / "submitting.json").write_bytes(b"")
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler)
    assert caught.value.id == "runs.uncertain"


def test_missing_command_is_a_refusal(
    run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_argv", lambda *words: ["/nowhere/sbatch", *words])
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    assert run.client("refused")


def test_too_much_output_is_not_a_refusal(
    run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hackathon.schedulers import runner

    monkeypatch.setattr(runner, "OUTPUT_LIMIT", 0)
    with pytest.raises(UnavailableError):
        submit(run, scheduler)
    assert not run.client("refused")


def test_unwritten_id_is_told(run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: RunDirectory, name: str, value: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunDirectory, "write_client", full)
    with pytest.raises(UnavailableError) as caught:
        submit(run, scheduler)
    assert "job 1" in str(caught.value)
    monkeypatch.undo()
    assert recover(run, scheduler) == "1"


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, scheduler: FakeScheduler) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError):
        submit(RunDirectory(tmp_path / "empty"), scheduler)


@pytest.mark.parametrize("workers", [1, 4])
def test_many_runs_each_get_their_job(tmp_path: Path, scheduler: FakeScheduler, workers: int) -> None:
    runs = [new_run(tmp_path / "project") for _ in range(9)]
    outcomes = submit_many(runs, scheduler, workers=workers)
    assert [outcome.run for outcome in outcomes] == runs
    assert scheduler.jobs() == {outcome.job_id: outcome.run.job_name for outcome in outcomes}


@pytest.mark.parametrize("workers", [1, 4])
def test_many_runs_stop_at_a_refusal(tmp_path: Path, scheduler: FakeScheduler, workers: int) -> None:
    (scheduler.spool / "refuse").write_text("no\n")
    runs = [new_run(tmp_path / "project") for _ in range(20)]
    outcomes = submit_many(runs, scheduler, workers=workers)
    assert outcomes[0].error is not None
    assert len(scheduler.calls("submit")) <= workers
    assert not any(outcome.job_id for outcome in outcomes) and not runs[-1].submitting()[0]


def test_waits_for_another_job(run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    whole = scheduler.submit_argv
    monkeypatch.setattr(scheduler, "submit_argv", lambda submission: seen.append(submission) or whole(submission))
    submit(run, scheduler, after=("ok", "41"))
    assert {submission.after for submission in seen} == {("ok", "41")}
    assert {submission.directory for submission in seen} == {run.path}


def test_facts_follow_the_folder_and_not_the_umask(tmp_path: Path, scheduler: FakeScheduler) -> None:
    before = os.umask(0o077)
    try:
        run = new_run(tmp_path / "project")
        run.path.parent.chmod(0o755)
        run = new_run(tmp_path / "project")
        submit(run, scheduler)
    finally:
        os.umask(before)
    for name in ("submitting", "submitted", "created"):
        assert (run.path / "client" / f"{name}.json").stat().st_mode & 0o777 == 0o644


def test_the_settling_time_covers_the_runner() -> None:
    from hackathon.schedulers import runner

    assert SETTLE >= runner.TIMEOUT


def test_two_that_saw_nothing_of_each_other_make_one_job(
    run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit_module, "_may_submit", lambda *words: (1, None))
    assert submit(run, scheduler) == "1"
    with pytest.raises(RequestError) as caught:
        submit(run, scheduler)
    assert caught.value.id == "runs.submitting_now"
    assert len(scheduler.jobs()) == 1


@pytest.mark.slow
def test_a_refused_folder_is_no_uncertain_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The local scheduler refuses its own folder before there is a job; meanwhile nothing is open to everybody."""
    project, local = tmp_path / "project", tmp_path / "local"
    project.mkdir()
    (project / "project.yaml").write_text("name: p\ncommand: 'true'\ncluster: laptop\nlauncher: local\nprocesses: 1\n")
    local.mkdir()
    local.chmod(0o777)  # anybody could have put jobs there
    environment = {
        **os.environ, "HACKATHON_LOCAL_DIR": str(local), "HACKATHON_LOCAL_SLOTS_DIR": str(tmp_path / "slots"),
        "PYTHONPATH": str(ROOT), "HACKATHON_LANG": "en", "HOME": str(tmp_path),
    }  # fmt: skip

    def cli(*words: str) -> "subprocess.CompletedProcess[str]":
        line = 'umask 000; exec "$@"'
        command = ["sh", "-c", line, "sh", sys.executable, "-m", "hackathon", *words]
        return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)

    refused = cli("submit")
    assert refused.returncode == 3, refused.stderr
    (run,) = (project / "runs").glob("2*")
    said = cli("status")
    assert "UNCERTAIN" not in said.stdout and "FAILED" in said.stdout, said.stdout
    made = [path for path in (project / "runs", *(project / "runs").rglob("*")) if not path.is_symlink()]
    assert [path for path in made if path.stat().st_mode & 0o002] == []
    local.chmod(0o700)
    for name in ("HACKATHON_LOCAL_DIR", "HACKATHON_LOCAL_SLOTS_DIR"):
        monkeypatch.setenv(name, environment[name])
    assert submit(RunDirectory(run), Local())  # without `again`: nobody needs to be sure of anything
    until(lambda: "SUCCEEDED" in cli("status").stdout, "the job")  # its folder goes when the test ends
