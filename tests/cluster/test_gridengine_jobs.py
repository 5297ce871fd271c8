"""What is special about Grid Engine's jobs, on the real one: ends from outside, errors, a dead master, a dead host."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Run, Site, until
from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.trouble import ask, later

pytestmark = [pytest.mark.gridengine, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def site(gridengine: GridEngineLab, tmp_path: Path) -> Iterator[Site]:
    """A project on the real Grid Engine whose job holds until it is released."""
    backend = GridEngineBackend(gridengine)
    made = Site(backend, tmp_path / "project")
    made.write_project("python program.py hold", walltime="3600s")
    yield made
    backend.stop()


def running(site: Site, *words: str) -> Run:
    """Return a run that is under way."""
    run = site.submit(*words)
    run.written("holding")
    return run


def released(run: Run) -> None:
    (run.path / "release").touch()


def by_hand(site: Site, run: Run) -> None:
    """Delete a run's job as an administrator would."""
    lab = lab_of(site)
    lab.run("qdel", run.job_id)
    until(lambda: not lab.state(run.job_id), "the job's end")
    later()


def lab_of(site: Site) -> GridEngineLab:
    assert isinstance(site.backend, GridEngineBackend)
    return site.backend.lab


def test_deleted_while_it_runs(site: Site) -> None:
    """There is no warning: the script has no time to write how it ended, and only the record tells."""
    run = running(site)
    by_hand(site, run)
    found = site.await_state(run, "FAILED")
    assert not run.has("ended") and (found["cause"], found["signal"], found["raw"]) == ("signal", 9, "100/137")


def test_script_that_ends_by_itself_is_told_from_one_that_is_killed(site: Site) -> None:
    run = running(site)
    site.backend.signal_script(run)
    assert run.await_end()["signal"] == 15
    found = site.await_state(run, "FAILED")
    assert (found["cause"], found["signal"]) == ("signal", 15)


@pytest.mark.parametrize("code", [99, 100])
def test_code_that_means_something_to_grid_engine_does_not_reach_it(site: Site, code: int) -> None:
    """It would run the job again for ever (99), or keep it in error (100)."""
    site.write_project(f"python program.py leave {code}")
    run = site.submit()
    assert run.await_end()["exit_code"] == code
    found = site.await_state(run, "FAILED")
    assert (found["exit_code"], found["cause"], found["attempt"]) == (code, "exit", 1)
    rows = until(lambda: [row for row in lab_of(site).accounted() if row[5] == run.job_id], "the job's record")
    assert [(row[11], row[12]) for row in rows] == [("0", "1")]


def test_interpreter_that_is_missing(site: Site) -> None:
    """The job gets stuck in Eqw: it never runs, and the reason is said; it can be cancelled."""
    site.write_profile(queues={"short.q": {"nodes": 1}}, dialect={}, directives=["-S /no/such/shell"])
    run = site.submit("--walltime", "60s")  # within the limit of that queue
    until(lambda: lab_of(site).state(run.job_id) == "Eqw", "the error")
    later()
    found = site.state(run)
    assert (found["state"], found["raw"]) == ("HELD", "Eqw") and "/no/such/shell" in found["reason"], found
    assert "/no/such/shell" in str(site.diagnosed(run))
    site.run("cancel", run.id)
    until(lambda: not lab_of(site).state(run.job_id), "the job's end")


def test_master_that_is_killed_and_comes_back(site: Site) -> None:
    lab = lab_of(site)
    run = running(site)
    lab.kill_master()
    try:
        said = ask(site, "submit")
        assert said.code == 3, said
        later()
        assert ask(site, "status").code in (0, 3)
        assert site.state(run)["state"] == "RUNNING"  # its own files say so
        assert ask(site, "cancel", run.id).code == 3
    finally:
        lab.restore_master()
    until(lambda: lab.state(run.job_id) == "r", "the hosts' report to the new master")
    released(run)
    assert run.await_end()["exit_code"] == 0
    assert site.await_state(run, "SUCCEEDED")


def test_host_that_dies(site: Site) -> None:
    """The job stays in the list for as long as the host is away; when it comes back, the record says what happened."""
    lab = lab_of(site)
    run = running(site)
    (name,) = site.state(run)["hosts"]
    number = lab.names.index(name) + 1
    until(lambda: lab.state(run.job_id) == "r", "the host's report that it runs")  # until then it is being sent: t
    lab.kill_host(number)
    try:
        until(lambda: f"{name} " in lab.run("qstat", "-f", "-qs", "u"), f"that {name} is missed")
        later()
        found = site.state(run)
        assert found["state"] == "RUNNING"
        site.run("cancel", run.id)
        assert lab.state(run.job_id) == "dr"
        later()
        found = site.state(run)
        assert found["state"] == "NODE_FAILED" and name in found["reason"]
    finally:
        lab.restore_host(number)
    until(lambda: not lab.state(run.job_id), "that the host tells of its job")
    assert site.state(run)["state"] == "NODE_FAILED"
