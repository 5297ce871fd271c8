"""What is done with runs afterwards: cancel, rerun, adopt, clean."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.jobs.script import SCRIPTS
from hackathon.runs import clean
from hackathon.runs.adopt import adopt
from hackathon.runs.cancel import cancel
from hackathon.runs.clean import Candidate, candidates, remove
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory, guarded
from hackathon.runs.events import first_failure, hosts
from hackathon.runs.rerun import rerun
from hackathon.runs.source.provenance import differences
from hackathon.runs.status import status
from hackathon.runs.submit import submit
from hackathon.scaling.collect import run_result
from hackathon.schedulers.base import JobState, StatusAnswer
from hackathon.schedulers.pbs.commands import Pbs
from hackathon.schedulers.reports import JobDetails
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.files import write_json
from support.paths import TESTS
from support.runs import SCRIPT, FakeScheduler, append_line, new_run, project, request, write_event

FORMER = TESTS / "support" / "former_run" / "20261129-110437-digits-2p-ybh36m2m"
"""What a version recorded whose `job.sh` needed no `hackathon.sh`."""


@pytest.fixture
def scheduler(tmp_path: Path) -> FakeScheduler:
    return FakeScheduler(tmp_path / "spool")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path / "project")


def _look(run: RunDirectory, scheduler: FakeScheduler) -> str:
    return status([run], load=lambda name: scheduler)[0].state


# ---- cancel ----
def test_cancel_a_queued_run(run: RunDirectory, scheduler: FakeScheduler) -> None:
    submit(run, scheduler)
    assert _look(run, scheduler) == "QUEUED"
    assert cancel(run, scheduler) is True
    assert scheduler.calls("cancel") == ["cancel 1"]
    assert run.client("cancelled")["by"]
    assert _look(run, scheduler) == "CANCELLED"  # the kept answer was dropped


def test_cancel_what_has_ended_says_so(run: RunDirectory, scheduler: FakeScheduler) -> None:
    submit(run, scheduler)
    write_event(run, {"t": 1.0, "event": "ended", "attempt": 1, "exit_code": 0})
    assert cancel(run, scheduler) is False
    assert not scheduler.calls("cancel") and not run.client("cancelled")


@pytest.mark.parametrize(
    ("said", "told"),
    [("QUEUED", True), ("HELD", True), ("RUNNING", False), ("ENDING", False), ("FAILED", False), ("UNKNOWN", False)],
)
def test_cancel_a_job_that_was_queued_again(run: RunDirectory, scheduler: FakeScheduler, said: str, told: bool) -> None:
    """Its script ended with its node, or was told to, and the scheduler runs it once more."""
    submit(run, scheduler)
    write_event(run, {"t": time.time(), "event": "started", "attempt": 1})
    write_event(run, {"t": time.time(), "event": "ended", "attempt": 1, "exit_code": 143, "signal": 15})
    scheduler.say("1", f"{said} no reason")
    assert cancel(run, scheduler) is told
    assert bool(scheduler.calls("cancel")) is told is bool(run.client("cancelled"))


def test_job_that_runs_again_is_told_before_its_script_writes(
    run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(run, scheduler)
    write_event(run, {"t": 50.0, "event": "ended", "attempt": 1, "exit_code": 143})
    for start, told in ((10.0, False), (60.0, True)):
        job = JobState("RUNNING", "R", start=start)
        monkeypatch.setattr(scheduler, "parse_status", lambda answers, ids, job=job: StatusAnswer({"1": job}))
        assert cancel(run, scheduler) is told


def test_cancel_what_the_scheduler_says_has_ended(
    run: RunDirectory, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(run, scheduler)
    monkeypatch.setattr(scheduler, "parse_cancel", lambda answer: False)
    assert cancel(run, scheduler) is False
    assert not run.client("cancelled")


def test_cancel_without_an_answer_is_not_written_down(run: RunDirectory, scheduler: FakeScheduler) -> None:
    submit(run, scheduler)
    (scheduler.spool / "down").touch()
    with pytest.raises(UnavailableError):
        cancel(run, scheduler)
    assert not run.client("cancelled")


def test_cancel_what_was_never_submitted(run: RunDirectory, scheduler: FakeScheduler) -> None:
    with pytest.raises(RequestError) as caught:
        cancel(run, scheduler)
    assert caught.value.id == "runs.cancel_not_submitted"


def test_cancel_an_uncertain_run_looks_by_name(run: RunDirectory, scheduler: FakeScheduler) -> None:
    run.write_client("submitting", {"t": 1.0, "pid": 0})
    with pytest.raises(RequestError) as caught:
        cancel(run, scheduler)
    assert run.job_name in str(caught.value)
    (scheduler.spool / "jobs" / "4").mkdir()
    (scheduler.spool / "jobs" / "4" / "name").write_text(run.job_name + "\n")
    assert cancel(run, scheduler) is True
    assert scheduler.calls("cancel") == ["cancel 4"]


def test_cancel_a_run_started_by_hand(run: RunDirectory, scheduler: FakeScheduler) -> None:
    (run.path / "claim").mkdir()
    (run.path / "claim" / "job_id").write_text("by-hand.a01.5\n")
    with pytest.raises(RequestError) as caught:
        cancel(run, scheduler)
    assert caught.value.id == "runs.cancel_by_hand"


# ---- rerun and differences ----
def test_rerun_has_the_same_bytes(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    (folder / "lib").mkdir()
    (folder / "lib" / "tool.sh").write_text("#!/bin/sh\n")
    (folder / "lib" / "tool.sh").chmod(0o755)
    (folder / "alias").symlink_to("train.py")
    old = create(request(folder), SCRIPT, runs_folder=folder / "runs", note="n", tags=["t"])
    (old.path / "source" / "output.txt").write_text("made by the job")
    (folder / "train.py").write_text("edited since\n")
    new = rerun(old)
    assert new.parent == old.id and new.id != old.id and (new.note, new.tags) == ("n", ("t",))
    for name in (*SCRIPTS, "source.json", "source/train.py", "source/lib/tool.sh", "source/alias"):
        assert (new.path / name).read_bytes() == (old.path / name).read_bytes(), name
    assert os.access(new.path / "source" / "lib" / "tool.sh", os.X_OK) and (new.path / "source" / "alias").is_symlink()
    assert not (new.path / "source" / "output.txt").exists()
    assert new.request() == old.request() and new.job_id() is None


def test_a_run_of_a_former_version_runs_again(tmp_path: Path) -> None:
    """Its job.sh holds what `hackathon.sh` holds now."""
    former = tmp_path / "runs" / FORMER.name
    shutil.copytree(FORMER, former)
    new = rerun(RunDirectory(former))
    assert not (new.path / "hackathon.sh").exists()
    assert (new.path / "job.sh").read_bytes() == (former / "job.sh").read_bytes()
    assert subprocess.run(["bash", "job.sh"], cwd=new.path).returncode == 0
    logs = {path.name: path.read_text() for path in (new.path / "logs").glob("rank-*.log")}
    assert logs == {"rank-0.log": "rank 0 of 2\n", "rank-1.log": "rank 1 of 2\n"}


def test_rerun_of_a_point_is_no_point(tmp_path: Path) -> None:
    folder = project(tmp_path)
    study = {"id": "s", "processes": 1, "repeat": 1}
    old = create(request(folder), SCRIPT, runs_folder=folder / "runs", study=study)
    assert rerun(old).study is None


def test_rerun_in_place_takes_the_live_folder(tmp_path: Path) -> None:
    folder = project(tmp_path)
    old = create(request(folder, in_place=True), SCRIPT, runs_folder=folder / "runs")
    (folder / "train.py").write_text("edited\n")
    new = rerun(old)
    assert (new.path / "source.sha256").read_text() != (old.path / "source.sha256").read_text()
    assert any("train.py" in line for line in differences(old))


@pytest.mark.parametrize("missing", ["source.json", "source/train.py", "job.sh", "hackathon.sh", "rank.sh"])
def test_rerun_without_its_parts_is_refused(run: RunDirectory, missing: str) -> None:
    (run.path / missing).unlink()
    with pytest.raises(RequestError):
        rerun(run)
    assert len(list(run.path.parent.iterdir())) == 1


def test_nothing_differs_at_first(run: RunDirectory) -> None:
    assert differences(run) == []


def test_differences_are_named(tmp_path: Path, run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    (folder / "train.py").write_text("edited\n")
    (folder / "new.py").write_text("")
    (run.path / "source" / "hackathon_runtime.py").write_text("changed by the job")
    monkeypatch.setattr("hackathon.__version__", "9.9")
    text = "\n".join(differences(run))
    for word in ("train.py", "new.py", "9.9", "hackathon_runtime.py"):
        assert word in text, word


def test_a_project_that_is_gone_is_a_difference(tmp_path: Path, run: RunDirectory) -> None:
    (tmp_path / "project").rename(tmp_path / "moved")
    moved = RunDirectory(tmp_path / "moved" / "runs" / run.id)
    assert any(str(tmp_path / "project") in line for line in differences(moved))


# ---- adopt ----
def test_adopt_a_job_id(tmp_path: Path, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "jobs" / "12").mkdir()
    scheduler.say("12", "RUNNING")
    run = adopt("12", scheduler, cluster="box", runs_folder=tmp_path / "runs", processes=4)
    assert run.job_id() == "12" and run.request().processes == 4
    assert _look(run, scheduler) == "RUNNING"
    with pytest.raises(RequestError) as caught:
        adopt("12", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert run.id in str(caught.value)
    with pytest.raises(RequestError):
        submit(run, scheduler)


def test_an_adopted_job_that_ended_well_succeeded(tmp_path: Path, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "jobs" / "12").mkdir()
    scheduler.say("12", "SUCCEEDED")
    run = adopt("12", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert _look(run, scheduler) == "SUCCEEDED"


def test_an_adopted_job_has_what_the_scheduler_recorded(tmp_path: Path, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "jobs" / "12").mkdir()
    scheduler.say("12", "SUCCEEDED")
    log = tmp_path / "by-hand" / "train.log"
    log.parent.mkdir()
    (log.parent / "logs").mkdir()
    log.write_text("accuracy 0.9\n")
    record = JobDetails(
        nodes=2, processes=4, threads=2, gpus_per_node=2, memory=2**30, walltime=300, queue="gpu", group="gx00",
        output=str(log),
    )  # fmt: skip
    scheduler.details_argv = lambda job_id: [["true", job_id]]  # type: ignore[misc]
    scheduler.parse_details = lambda answers, job_id: record  # type: ignore[misc]
    run = adopt("12", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    request = run.request()
    assert (request.nodes, request.processes, request.processes_per_node, request.threads) == (2, 4, 2, 2)
    assert (request.gpus_per_node, request.memory, request.walltime) == (2, 2**30, 300)
    assert (request.queue, request.group, "-4p-" in run.id) == ("gpu", "gx00", True)
    assert guarded(run.path).joinpath("logs", "job.log").read_text() == "accuracy 0.9\n"
    assert not (run.path / "logs").is_symlink(), "a folder of that name belongs to other jobs, too"


def test_of_a_job_without_a_record_nothing_is_made_up(tmp_path: Path, scheduler: FakeScheduler) -> None:
    (scheduler.spool / "jobs" / "12").mkdir()
    scheduler.say("12", "SUCCEEDED")
    scheduler.details_argv = lambda job_id: [["false", job_id]]  # type: ignore[misc]
    request = adopt("12", scheduler, cluster="box", runs_folder=tmp_path / "runs").request()
    assert (request.nodes, request.processes, request.processes_per_node, request.threads) == (0, 0, 0, 0)
    assert (request.gpus_per_node, request.memory, request.walltime) == (0, None, 0)


def test_output_that_is_elsewhere_than_the_jobs_folder_is_not_taken(tmp_path: Path, scheduler: FakeScheduler) -> None:
    folder = tmp_path / "by-hand"
    folder.mkdir()
    (folder / "slurm-31.out").write_text("accuracy 0.9\n")
    (tmp_path / "elsewhere.log").write_text("accuracy 0.1\n")
    (scheduler.spool / "jobs" / "31").mkdir()
    scheduler.say("31", "SUCCEEDED")
    record = JobDetails(output=str(tmp_path / "elsewhere.log"))
    scheduler.details_argv = lambda job_id: [["true", job_id]]  # type: ignore[misc]
    scheduler.parse_details = lambda answers, job_id: record  # type: ignore[misc]
    run = adopt(str(folder), scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert (run.path / "logs" / "job.log").read_text() == "accuracy 0.9\n"


def test_of_an_adopted_job_that_nothing_tells_of_no_number_is_made_per_process(
    tmp_path: Path, scheduler: FakeScheduler
) -> None:
    folder = tmp_path / "by-hand"
    folder.mkdir()
    (folder / "slurm-31.out").write_text("epoch 1 throughput 100 samples/s/GPU\nepoch 2 throughput 102 samples/s/GPU\n")
    unknown = adopt(str(folder), scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert unknown.record().processes == 0 and "p-" not in unknown.id.partition("-by-hand-")[2]
    assert "samples_per_s" not in run_result(unknown.path, status="SUCCEEDED").metrics
    told = adopt(str(folder), scheduler, cluster="box", runs_folder=tmp_path / "others", processes=4)
    assert run_result(told.path, status="SUCCEEDED").metrics["samples_per_s"] == pytest.approx(408, rel=0.02)


def test_adopt_an_unknown_job(tmp_path: Path, scheduler: FakeScheduler) -> None:
    with pytest.raises(RequestError):
        adopt("99", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("name", "job_id"), [("slurm-31.out", "31"), ("train.o31", "31"), ("31.pbs.example.OU", "31.pbs.example")]
)
def test_adopt_a_folder_with_an_output_file(tmp_path: Path, scheduler: FakeScheduler, name: str, job_id: str) -> None:
    folder = tmp_path / "by-hand"
    folder.mkdir()
    (folder / name).write_text("accuracy 0.9\n")
    (folder / "go.sbatch").write_text("#!/bin/bash\n#SBATCH -N 2\n")
    run = adopt(str(folder), scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert run.job_id() == job_id
    assert (run.path / "logs" / "job.log").read_text() == "accuracy 0.9\n"
    assert (run.path / "job.sh").read_text() == "#!/bin/bash\n#SBATCH -N 2\n"
    assert run.source() == folder


def test_adopt_a_folder_where_a_rendered_script_ran(tmp_path: Path, scheduler: FakeScheduler) -> None:
    folder = tmp_path / "by-hand"
    for name in ("claim", "events", "logs", "metrics"):
        (folder / name).mkdir(parents=True)
    (folder / "claim" / "job_id").write_text("77\n")
    (folder / "logs" / "rank-0.log").write_text("hello\n")
    append_line(folder / "events" / "job.jsonl", {"t": 1.0, "event": "started", "attempt": 1, "host": "a01"})
    append_line(folder / "events" / "job.jsonl", {"t": 2.0, "event": "ended", "attempt": 1, "exit_code": 0})
    run = adopt(str(folder), scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert (run.path / "logs" / "rank-0.log").read_text() == "hello\n"
    assert _look(run, scheduler) == "SUCCEEDED"


def test_adopt_a_folder_without_a_job(tmp_path: Path, scheduler: FakeScheduler) -> None:
    with pytest.raises(RequestError):
        adopt(str(project(tmp_path / "empty")), scheduler, cluster="box", runs_folder=tmp_path / "runs")


def test_one_job_is_adopted_under_one_id(
    tmp_path: Path, scheduler: FakeScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """499 and 499.server are one job; counted twice it would cost a team twice."""
    job = JobState("RUNNING", "R", id="499.server")
    monkeypatch.setattr(scheduler, "parse_status", lambda answers, ids: StatusAnswer(dict.fromkeys(ids, job)))
    monkeypatch.setattr(scheduler, "same_job", Pbs().same_job)
    run = adopt("499", scheduler, cluster="box", runs_folder=tmp_path / "runs")
    assert run.client("adopted")["job_id"] == "499.server"
    for other in ("499", "499.server", "499.server.example.org"):
        with pytest.raises(RequestError) as caught:
            adopt(other, scheduler, cluster="box", runs_folder=tmp_path / "runs")
        assert caught.value.id == "runs.adopted_already"


# ---- clean ----
def _seal(run: RunDirectory, state: str, age: float = 10 * 86400.0) -> None:
    write_json(run.path / "final.json", {"state": state, "t_ended": time.time() - age})


def _reasons(found: list[Candidate]) -> dict[str, str]:
    return {candidate.path.name: candidate.reason for candidate in found}


def test_only_old_half_made_directories_go(tmp_path: Path, run: RunDirectory) -> None:
    runs = run.path.parent
    for name, age in (("old", 7200), ("new", 10)):
        (runs / f".partial-{name}").mkdir()
        (runs / f".partial-{name}" / "file").write_text("x" * 10_000)
        os.utime(runs / f".partial-{name}", (time.time() - age,) * 2)
    found = candidates(tmp_path / "project")
    assert _reasons(found) == {".partial-old": "partial"}
    assert found[0].size >= 10_000
    assert remove(found, tmp_path / "project") >= 10_000
    assert sorted(path.name for path in runs.iterdir()) == [".partial-new", run.id]


def test_caches_of_sealed_runs_and_no_checkpoints(tmp_path: Path, run: RunDirectory) -> None:
    for name in ("checkpoints/last.pt", "source/out/model.pt", "source/__pycache__/x.pyc", "source/results.txt"):
        (run.path / name).parent.mkdir(parents=True, exist_ok=True)
        (run.path / name).write_text("x")
    assert candidates(tmp_path / "project") == []  # not sealed: a job may still use them
    _seal(run, "SUCCEEDED")
    found = candidates(tmp_path / "project")
    assert _reasons(found) == {"__pycache__": "cache"}
    remove(found, tmp_path / "project")
    for name in ("checkpoints/last.pt", "source/out/model.pt", "source/train.py", "source/results.txt"):
        assert (run.path / name).exists()


def test_a_checkpoint_that_was_part_of_the_source_stays(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    (folder / "start.pt").write_text("weights")
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    _seal(run, "SUCCEEDED")
    assert candidates(folder) == []


def test_failed_runs_only_when_asked_and_old(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    runs = {state: new_run(folder) for state in ("FAILED", "CANCELLED", "SUCCEEDED")}
    for state, run in runs.items():
        _seal(run, state)
    fresh = new_run(folder)
    _seal(fresh, "FAILED", age=60.0)
    assert candidates(folder) == []
    found = candidates(folder, failed=True)
    assert _reasons(found) == {runs["FAILED"].id: "failed", runs["CANCELLED"].id: "failed"}
    remove(found, folder)
    assert {path.name for path in (folder / "runs").iterdir()} == {".removed", runs["SUCCEEDED"].id, fresh.id}


def test_runs_that_were_never_submitted(tmp_path: Path, run: RunDirectory, scheduler: FakeScheduler) -> None:
    folder = tmp_path / "project"
    later = time.time() + 3 * 86400
    found = candidates(folder, failed=True, now=later)
    assert _reasons(found) == {run.id: "never_submitted"}
    submit(run, scheduler)
    assert remove(found, folder) == 0 and run.path.exists()  # somebody submitted it meanwhile
    assert candidates(folder, failed=True, now=later) == []


def test_sources_only_by_flag(tmp_path: Path, run: RunDirectory) -> None:
    _seal(run, "SUCCEEDED")
    assert candidates(tmp_path / "project") == []
    found = candidates(tmp_path / "project", sources=True)
    assert _reasons(found) == {"source": "source"}
    remove(found, tmp_path / "project")
    assert not (run.path / "source").exists() and (run.path / "final.json").exists()


def test_links_are_never_followed(tmp_path: Path, run: RunDirectory) -> None:
    precious = tmp_path / "precious"
    (precious / "checkpoints").mkdir(parents=True)
    (precious / "checkpoints" / "last.pt").write_text("x")
    _seal(run, "SUCCEEDED")
    (run.path / "checkpoints").symlink_to(precious / "checkpoints")
    (run.path / "source" / "data").symlink_to(precious)
    assert candidates(tmp_path / "project") == []
    linked = run.path.parent / "linked"
    linked.symlink_to(precious)
    hostile = [
        Candidate(path, "cache", 1)
        for path in (
            linked / "checkpoints", run.path / "source" / "data" / "checkpoints", precious, tmp_path / "project",
            run.path.parent, run.path / ".." / ".." / "train.py", tmp_path / "project" / "train.py", Path("/etc/hosts"),
        )
    ]  # fmt: skip
    assert remove(hostile, tmp_path / "project") == 0
    assert (precious / "checkpoints" / "last.pt").exists() and (tmp_path / "project" / "train.py").exists()


def test_what_was_sealed_when_listed_and_runs_again_stays(tmp_path: Path, run: RunDirectory) -> None:
    (run.path / "checkpoints" / "__pycache__").mkdir(parents=True)
    _seal(run, "SUCCEEDED")
    found = candidates(tmp_path / "project", sources=True)
    assert _reasons(found) == {"__pycache__": "cache", "source": "source"}
    (run.path / "final.json").unlink()
    assert remove(found, tmp_path / "project") == 0
    assert (run.path / "checkpoints" / "__pycache__").exists() and (run.path / "source" / "train.py").exists()


def test_other_people_s_runs_stay(tmp_path: Path, run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.path / "checkpoints").mkdir()
    _seal(run, "FAILED")
    found = candidates(tmp_path / "project", failed=True)
    assert found
    monkeypatch.setattr(clean.os, "geteuid", lambda: 4242)
    assert candidates(tmp_path / "project", failed=True) == []
    assert remove(found, tmp_path / "project") == 0 and run.path.exists()


# ---- events ----
def test_hosts_and_the_first_failure(run: RunDirectory) -> None:
    for rank, (host, t, code) in enumerate([("a01", 5.0, 1), ("a02", 3.0, 139), ("a02", 4.0, 1)]):
        name = f"rank-{rank}"
        write_event(run, {"t": 1.0, "event": "started", "attempt": 1, "host": host}, name)
        ended = {"t": t, "event": "ended", "attempt": 1, "host": host, "exit_code": code, "signal": None}
        write_event(run, ended, name)
    (run.path / "events" / "rank-x.jsonl").write_text(json.dumps({"event": "started", "host": "no"}))
    assert hosts(run.path, 1) == ("a01", "a02") and hosts(run.path, 2) == ()
    failure = first_failure(run.path, 1)
    assert failure is not None and failure[0] == 1 and failure[1]["exit_code"] == 139


def _rank(run: RunDirectory, rank: int, told: bool = False, **ended: Any) -> None:
    name = f"rank-{rank}"
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1, "host": f"a{rank}"}, name)
    if told:
        write_event(run, {"t": 2.5, "event": "told", "attempt": 1, "signal": "TERM"}, name)
    if ended:
        write_event(run, {"event": "ended", "attempt": 1, "host": f"a{rank}", "signal": None, **ended}, name)


def test_a_killed_rank_counts_before_those_that_saw_it_first(run: RunDirectory) -> None:
    _rank(run, 0, t=2.0, exit_code=1)
    _rank(run, 1, t=2.2, exit_code=137, signal=9)
    failure = first_failure(run.path, 1)
    assert failure is not None and failure[0] == 1


def test_a_rank_killed_long_after_the_first_failure_is_not_the_first(run: RunDirectory) -> None:
    _rank(run, 0, t=2.0, exit_code=1)
    _rank(run, 1, t=40.0, exit_code=137, signal=9)
    failure = first_failure(run.path, 1)
    assert failure is not None and failure[0] == 0


def test_a_rank_that_vanished_is_named_when_the_others_were_told_to_end(run: RunDirectory) -> None:
    _rank(run, 0, told=True, t=3.0, exit_code=143, signal=15)
    _rank(run, 1)
    _rank(run, 2, told=True)  # it was killed after it was told
    failure = first_failure(run.path, 1)
    assert failure is not None
    assert (failure[0], failure[1]["host"], failure[1]["exit_code"]) == (1, "a1", None)
    _rank(run, 3, t=3.5, exit_code=3)  # one that failed by itself is surer
    failure = first_failure(run.path, 1)
    assert failure is not None and failure[0] == 3
