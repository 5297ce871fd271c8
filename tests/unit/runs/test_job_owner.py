"""A run's files can name anybody's job: whose it is, and what `cancel`, `status`, `adopt` and `submit` make of it."""

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.access.permissions import user_name
from hackathon.runs import job_owner
from hackathon.runs.adopt import adopt
from hackathon.runs.cancel import NOT_SURE, cancel
from hackathon.runs.directory import RunDirectory
from hackathon.runs.status import status
from hackathon.runs.submit import recover, submit
from hackathon.schedulers.base import CommandOutput, JobState, StatusAnswer
from hackathon.schedulers.local.commands import Local
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.slurm.commands import Slurm
from hackathon.text.errors import HackathonError, RequestError
from support.runs import NOBODY, FakeScheduler, new_run

ME = user_name(os.geteuid())
OTHER = next(each.pw_name for each in pwd.getpwall() if each.pw_uid not in (os.geteuid(), NOBODY))


class Telling(FakeScheduler):
    """A scheduler that tells a job's name, and its owner from the file `owner`."""

    owner = ME

    def parse_status(self, answers: list[CommandOutput], ids: list[str]) -> StatusAnswer:
        names = self.jobs()
        found = super().parse_status(answers, ids).jobs
        return StatusAnswer({each: replace(job, name=names[each], owner=self.owner) for each, job in found.items()})


@pytest.fixture
def scheduler(tmp_path: Path) -> Telling:
    return Telling(tmp_path / "spool")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path / "project")


def _name_job(run: RunDirectory, job_id: str) -> None:
    (run.path / "claim").mkdir(exist_ok=True)
    (run.path / "claim" / "job_id").write_text(job_id + "\n")


def _job(scheduler: Telling, number: str, name: str) -> None:
    (scheduler.spool / "jobs" / number).mkdir()
    (scheduler.spool / "jobs" / number / "name").write_text(name + "\n")


def _refused(run: RunDirectory, scheduler: FakeScheduler, **sure: bool) -> str:
    with pytest.raises(HackathonError) as caught:
        cancel(run, scheduler, **sure)
    assert not scheduler.calls("cancel") and not run.client("cancelled")
    assert caught.value.hint and caught.value.exit_code == 2
    return caught.value.id


@pytest.mark.parametrize(
    ("name", "owner", "expected"),
    [
        ("{own}", ME, "own"),
        ("{own}", str(os.geteuid()), "own"),
        ("", ME, "own"),  # the name is not told
        ("{own}", "", "untold"),
        ("", "", "untold"),
        ("site7-{own}.gpu", ME, "own"),  # a submission hook of the site
        ("{own:.9}", ME, "own"),  # a table that cuts names
        ("nightly", ME, "renamed"),  # `scontrol update`, `qalter -N`, another hook, a script submitted by hand
        ("nightly", "", "untold"),
        ("hk-abcdefgh", ME, "other_run"),
        ("hk-abcdefgh", "", "other_run"),
        ("{own}", OTHER, "other_owner"),
        ("{own}", "99999999", "other_owner"),
        ("", "nobody-here", "other_owner"),
    ],
)
def test_whose_job_it_is(run: RunDirectory, name: str, owner: str, expected: str) -> None:
    job = JobState(
        "RUNNING", "R", name=name.replace("{own:.9}", run.job_name[:9]).format(own=run.job_name), owner=owner
    )
    assert job_owner.whose(run, job) == expected


def test_a_run_that_was_renamed_keeps_its_job(run: RunDirectory, scheduler: Telling) -> None:
    submit(run, scheduler)
    moved = run.path.parent / "the-good-one"
    Path(run.path).rename(moved)
    assert cancel(RunDirectory(moved), scheduler) is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_server_that_knows_nobody_is_no_evidence(run: RunDirectory) -> None:
    os.chown(run.path, NOBODY, NOBODY)
    assert job_owner.whose(run, JobState("RUNNING", "R", name=run.job_name, owner=OTHER)) == "untold"


def test_cancel_leaves_jobs_of_others_alone(run: RunDirectory, scheduler: Telling) -> None:
    _job(scheduler, "7", run.job_name)  # even the name agrees
    scheduler.owner = OTHER
    _name_job(run, "7")
    assert _refused(run, scheduler) == _refused(run, scheduler, sure=True) == "runs.cancel_other_owner"


def test_cancel_leaves_jobs_of_other_runs_alone(run: RunDirectory, scheduler: Telling) -> None:
    _job(scheduler, "7", "hk-abcdefgh")
    _name_job(run, "7")
    assert _refused(run, scheduler) == _refused(run, scheduler, sure=True) == "runs.cancel_other_run"


def test_cancel_asks_about_a_name_that_no_run_has(run: RunDirectory, scheduler: Telling) -> None:
    _job(scheduler, "7", "nightly")
    _name_job(run, "7")
    assert _refused(run, scheduler) == "runs.cancel_renamed" and "runs.cancel_renamed" in NOT_SURE
    assert cancel(run, scheduler, sure=True) is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_cancel_of_anothers_run_asks_where_the_scheduler_tells_nothing(run: RunDirectory, tmp_path: Path) -> None:
    silent = FakeScheduler(tmp_path / "spool")
    submit(run, silent)
    for path in [run.path, *Path(run.path).rglob("*")]:
        os.chown(path, 12345, 12345)
    assert _refused(run, silent) == "runs.cancel_untold" and "runs.cancel_untold" in NOT_SURE
    assert cancel(run, silent, sure=True) is True


@pytest.mark.parametrize("text", ["-Wforce", "--all", "17 18", "17\n18", "$(id)", "'", "", "x" * 220, "../7", "7;8"])
def test_what_is_no_id_reaches_no_command(run: RunDirectory, tmp_path: Path, text: str) -> None:
    fake = FakeScheduler(tmp_path / "spool")
    for scheduler in (fake, Slurm(), Pbs(), Local()):
        assert not scheduler.is_id(text) and not scheduler.can_account(text), (scheduler, text)
    if text.strip():
        _name_job(run, text)
        assert _refused(run, fake, sure=True) == "schedulers.not_an_id"
        (found,) = status([run], load=lambda name: fake)
        assert found.state == "RUNNING" and found.raw == "" and "is not a job ID" in found.reason
        with pytest.raises(HackathonError) as caught:
            adopt(text, fake, cluster="box", runs_folder=tmp_path / "runs")
        assert caught.value.id == "schedulers.not_an_id"
        other = new_run(tmp_path / "project")
        with pytest.raises(HackathonError) as caught:
            submit(other, fake, after=("ok", text))
        assert caught.value.id == "schedulers.not_an_id" and not fake.calls("submit") and not fake.calls("status")


@pytest.mark.parametrize(
    ("scheduler", "ids"),
    [
        (Slurm(), ["8", "8_2", "8_[1-3%1]", "8_[1,3-5:2]", "8+1", "67108863"]),
        (Pbs(), ["8", "8.pbs", "8.pbs.example.org", "8[].pbs", "8[3].pbs", "8[1-3].pbs"]),
        (Local(), ["8.login1.local", "8.login-1.example.org.local", "8.a_b.local"]),
    ],
)
def test_real_ids_are_ids(scheduler: Slurm | Pbs | Local, ids: list[str]) -> None:
    assert [each for each in ids if not scheduler.is_id(each)] == []


def test_status_does_not_show_the_job_of_another(run: RunDirectory, scheduler: Telling) -> None:
    submit(run, scheduler)
    _job(scheduler, "7", "theirs")
    scheduler.say("7", "RUNNING")
    scheduler.owner = OTHER
    run.write_client("submitted", {**run.client("submitted"), "job_id": "7"})
    (found,) = status([run], load=lambda name: scheduler)
    assert (found.state, found.raw) == ("QUEUED", "") and found.stale_seconds is not None
    assert OTHER in found.problem and "7" in found.problem
    assert not run.client("seen")


def test_adopt_takes_no_job_of_another(tmp_path: Path, scheduler: Telling) -> None:
    _job(scheduler, "7", "theirs")
    scheduler.owner = OTHER
    with pytest.raises(RequestError) as caught:
        adopt("7", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert caught.value.id == "runs.adopt_other_owner" and OTHER in str(caught.value)
    scheduler.owner = ME
    adopted = adopt("7", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert cancel(adopted, scheduler) is True  # its name is the job's, not the toolkit's


def test_a_job_of_somebody_else_with_the_runs_name_is_not_the_submission(run: RunDirectory, scheduler: Telling) -> None:
    run.write_client("submitting", {"t": 1.0, "pid": 0})
    _job(scheduler, "4", run.job_name)
    scheduler.owner = OTHER
    assert recover(run, scheduler) is None and not run.client("recovered")
    scheduler.owner = ME
    assert recover(run, scheduler) == "4"


def test_owners_as_schedulers_print_them() -> None:
    block = "Job Id: 8.pbs\n    Job_Name = hk-a\n    Job_Owner = alice@login1.example.org\n    job_state = R\n\n"
    job = Pbs().parse_status([CommandOutput(("qstat",), 0, block, "")], ["8.pbs"]).jobs["8.pbs"]
    assert (job.name, job.owner) == ("hk-a", "alice")
    record = "\x1f".join(["8", "RUNNING", "None", "n1", "1", "N/A", "1", "alice", "hk-a"]) + "\x1e\n"
    answers = [CommandOutput(("squeue",), 0, record, ""), CommandOutput(("sacct",), 0, "", "")]
    job = Slurm().parse_status(answers, ["8"]).jobs["8"]
    assert (job.name, job.owner) == ("hk-a", "alice")
