"""PJM over its stand-in: what only PJM does, on Fujitsu's tables and on those of Wisteria's own pjstat."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import pjm
from support.backends import PjmBackend, Site, WisteriaBackend, until
from support.patience import STRETCH

BOTH = pytest.mark.parametrize("backend", ["pjm", "wisteria"], indirect=True)
FUJITSU = pytest.mark.parametrize("backend", ["pjm"], indirect=True)
WISTERIA = pytest.mark.parametrize("backend", ["wisteria"], indirect=True)


@pytest.fixture
def site(backend: PjmBackend, tmp_path: Path) -> Iterator[Site]:
    made = Site(backend, tmp_path / "project")
    made.write_project("python program.py hold", walltime="600s")
    yield made


def state_of(site: Site) -> Path:
    assert isinstance(site.backend, PjmBackend)
    return site.backend.state


@pytest.mark.slow
@BOTH
def test_walltime_tells_the_program_once_by_term(site: Site) -> None:
    """SIGXCPU goes to all processes; the script keeps it from them and sends TERM."""
    site.write_project("python program.py term 7")
    pjm.configure(state_of(site), not_before="holding", kill_delay=600)  # however slow this machine is
    run = site.submit("--walltime", "3s")
    run.written("holding")
    assert json.loads(run.written("told").read_text()) == [15]
    assert (run.await_end()["signal"], run.rank_events(0)[-1]["exit_code"]) == (24, 7)
    found = site.await_state(run, "TIMEOUT")
    assert (found["cause"], found["raw"]) == ("walltime", "END" if isinstance(site.backend, WisteriaBackend) else "EXT")


@FUJITSU
@pytest.mark.parametrize(
    ("fault", "state", "cause"), [("memory", "OUT_OF_MEMORY", "memory"), ("dead", "NODE_FAILED", "node")]
)
@pytest.mark.slow
def test_codes_tell_what_the_script_cannot(site: Site, fault: str, state: str, cause: str) -> None:
    pjm.break_command(state_of(site), "mom", fault, 1)
    run = site.submit()
    assert site.await_state(run, state)["cause"] == cause
    assert not run.has("ended")


@WISTERIA
@pytest.mark.slow
def test_a_site_without_exit_codes_does_not_tell_why_a_killed_job_ended(site: Site) -> None:
    pjm.break_command(state_of(site), "mom", "memory", 1)
    run = site.submit()
    found = site.await_state(run, "FAILED")
    assert (found["cause"], found["raw"], found["exit_code"]) == ("no_cause", "END", None)


@pytest.mark.slow
@BOTH
def test_a_table_without_its_end_is_no_end_of_the_job(site: Site) -> None:
    run = site.submit()
    run.written("holding")
    for fault in ("missing_row", "truncated", "garbage", "non_utf8", "down"):
        pjm.break_command(state_of(site), "pjstat", fault)
        assert site.state(run)["state"] == "RUNNING", fault
        pjm.mend(state_of(site))
    assert not (run.path / "final.json").exists()


@pytest.mark.slow
@BOTH
def test_job_that_was_accepted_without_an_answer_is_found_by_its_name(site: Site) -> None:
    site.write_project("python program.py measure")
    pjm.break_command(state_of(site), "pjsub", "accept_then_down", 1)
    site.run("submit", code=3)
    path = next((site.folder / "runs").glob("2*"))
    until(lambda: json.loads(site.run("status", "--json"))["runs"][0]["state"] == "SUCCEEDED")
    (job_id,) = site.backend.jobs_named(f"hk-{path.name[-8:]}")
    assert site.states(path.name)[0]["job_id"] == job_id


@pytest.mark.slow
@FUJITSU
def test_refusals_reach_the_person(site: Site) -> None:
    def words(code: int, *options: str) -> str:
        process = site.start("submit", *options)
        stderr = process.communicate(timeout=STRETCH * 60)[1].decode()
        assert process.returncode == code, stderr
        return stderr

    pjm.configure(state_of(site), accept=1)
    first = site.submit()
    assert "Job exceeded the accept limit" in words(3)
    pjm.configure(state_of(site), accept=0, queues={"small": {"nodes": 1}})
    site.write_project("python program.py ranks", processes=4)
    assert "node=2 is greater than the upper limit (1)" in words(2, "--launcher", "torchrun")
    pjm.configure(state_of(site), queues={"small": {}}, groups=["gz00"])
    assert "dialect.group: g" in words(2, "--launcher", "torchrun")
    site.run("cancel", first.id)
    site.await_state(first, "CANCELLED")


@FUJITSU
def test_the_wrong_table_is_named(site: Site) -> None:
    run = site.submit()
    run.written("holding")
    site.more["PATH"] = f"{pjm.SITE}{os.pathsep}{site.backend.environment()['PATH']}"
    found = site.state(run)
    assert found["state"] == "RUNNING" and "dialect.table: site" in found["problem"]


@BOTH
def test_queues_are_listed_or_said_not_to_be(site: Site) -> None:
    process = site.start("clusters", "lab", "--live")
    stdout, stderr = process.communicate(timeout=STRETCH * 60)
    if isinstance(site.backend, WisteriaBackend):
        assert process.returncode == 0 and b"Node: 1/2" in stdout
    else:
        assert process.returncode == 2 and b"pjstat --rsc" in stderr and b"small" in stdout  # the profile's own


@FUJITSU
def test_output_that_cannot_be_written_ends_a_job_before_it_begins(site: Site) -> None:
    backend = site.backend
    assert isinstance(backend, PjmBackend)
    script = site.folder / "x.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    job_id = backend.ask("pjsub", "-o", "nowhere/out.txt", "-j", "x.sh", folder=site.folder).split()[5]
    row = until(lambda: (lines := backend.ask("pjstat", "-H", "-v", job_id).splitlines())[1:] and lines[1])
    assert " EXT " in row and " 16 " in row
