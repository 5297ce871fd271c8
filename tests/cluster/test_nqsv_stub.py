"""NQSV's stand-in itself, which answers as the samples say; and what only NQSV does to a run."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import stubs
from support.backends import NqsvBackend, Run, Site, until
from support.patience import STRETCH


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[NqsvBackend]:
    made = NqsvBackend(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def site(backend: NqsvBackend, tmp_path: Path) -> Site:
    made = Site(backend, tmp_path / "project")
    made.write_project("python program.py measure")
    return made


def ask(site: Site, *words: str, folder: Path | None = None) -> str:
    """Return what a command of the stand-in printed; all of them end with 0."""
    environment = site.backend.environment()
    return subprocess.run(
        words,
        env=environment,
        cwd=folder or site.folder,
        capture_output=True,
        text=True,
        timeout=STRETCH * 60,
        check=True,
    ).stdout


def script(site: Site, body: str, *directives: str) -> str:
    """Submit a script and return its request's id."""
    (site.folder / "by-hand.sh").write_text(
        "\n".join(["#!/bin/bash", *(f"#PBS {each}" for each in directives), body, ""])
    )
    return ask(site, "qsub", "by-hand.sh").split()[1]


def test_script_runs_as_public_records_have_it(site: Site) -> None:
    assert isinstance(site.backend, NqsvBackend)
    body = 'pwd; echo $PBS_O_WORKDIR; echo $PBS_JOBID; cat $PBS_NODEFILE; kill -TERM $$; echo "$V still here"; exit 17'
    job_id = script(site, body, "-b 2", "-T openmpi", "-v V=it", "-l elapstim_req=00:01:00")
    number = job_id.removesuffix(".nqsv")
    until(lambda: "does not exist" in ask(site, "qstat", "-f", job_id), "the end")
    assert (site.folder / f"by-hand.sh.o{number}").read_text().splitlines() == [
        str(site.backend.home), str(site.folder), f"0:{job_id}", "bnode001", "bnode002", "it still here",
    ]  # fmt: skip
    assert f"Request ID:             {job_id}" in (site.folder / f"by-hand.sh.e{number}").read_text()
    assert site.backend.requests()[job_id]["code"] == "1100"
    assert ask(site, "qstat").count("\n") == 2 and ask(site, "qstat", "-f") == ""


@pytest.mark.mpi
def test_without_T_every_node_runs_the_script_and_one_of_them_the_job(site: Site) -> None:
    """Nothing is rendered without -T; if somebody takes the line away, the other nodes end."""
    folder = site.folder / "runs" / "by-hand"
    folder.mkdir(parents=True)
    words = ("render", "--nodes", "2", "--launcher", "mpirun")
    files = json.loads(site.run(*words, "--all", "--json"))["files"]
    assert "\n#PBS -T openmpi\n" in files["job.sh"]
    files["job.sh"] = files["job.sh"].replace("\n#PBS -T openmpi\n", "\n")
    for name, text in files.items():
        (folder / name).write_text(text)
    ask(site, "qsub", "job.sh", folder=folder)
    run = Run(folder, "")
    assert run.await_end()["exit_code"] == 78
    assert [each["event"] for each in run.job_events] == ["started", "warned", "ended"]
    assert "no options for mpirun" in run.job_events[1]["text"]
    said = until(lambda: "".join(path.read_text() for path in folder.glob("job.sh.e*")), "the file of errors")
    assert "started on every node of request" in said


@pytest.mark.slow
def test_lost_answer_of_qsub_is_found_again_by_name(site: Site) -> None:
    assert isinstance(site.backend, NqsvBackend)
    site.write_project("python program.py hold", walltime="3600s")
    stubs.break_command(site.backend.state, "qsub", "accept_then_down", 1)
    site.run("submit", code=None)
    run = Run(next((site.folder / "runs").glob("2*")), "")
    run.written("holding")
    found = site.state(run)
    assert found["state"] == "RUNNING" and [found["job_id"]] == site.backend.jobs_named(f"hk-{run.id[-8:]}")
    site.run("cancel", run.id)
    assert site.await_state(run, "CANCELLED")["cause"] == "cancelled"


def test_queue_of_another_kind_and_waiting_for_a_job_are_refused(site: Site) -> None:
    site.write_profile(queues={"gen_S": {}, "debug": {}})
    process = site.start("submit", "--queue", "debug")
    words = process.communicate(timeout=STRETCH * 60)[1].decode()
    assert process.returncode == 2 and "EWRNGTYP" in words and "hackathon shell" in words
    first = site.submit()
    process = site.start("submit", "--after", f"ok:{first.id}")
    words = process.communicate(timeout=STRETCH * 60)[1].decode()
    assert process.returncode == 2 and "nqsv cannot start a job only after another one has succeeded" in words
    assert first.await_end()["exit_code"] == 0


@pytest.mark.slow
def test_answers_that_are_none_leave_the_state_as_it_was(site: Site) -> None:
    assert isinstance(site.backend, NqsvBackend)
    site.write_project("python program.py hold", walltime="3600s")
    run = site.submit()
    run.written("holding")
    for fault in ("garbage", "truncated"):
        stubs.break_command(site.backend.state, "qstat", fault)
        assert site.state(run)["state"] == "RUNNING"
        stubs.mend(site.backend.state)
