"""How a job can end without being done: each kind gives its state and cause, ends every rank, leaves no process behind.

Over the real Slurm, with ranks on two nodes, and over the local back-end; what these can not do is asked of the PBS
stand-in. Cancelling and walltimes over all back-ends with one rank are in `tests/cluster/test_backends.py`.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import pbs
from support.backends import Backend, LocalBackend, PbsBackend, Run, Site, SlurmBackend, until
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab

pytestmark = pytest.mark.slow
PROGRAM = """
import os, pathlib, sys, time
run, rank, attempt = pathlib.Path(os.environ["HK_RUN"]), os.environ["RANK"], os.environ["HK_ATTEMPT"]
(run / f"here-{attempt}-{rank}").touch()
end = time.monotonic() + 900  # longer than any test: a rank that nobody ends is seen
while time.monotonic() < end and not (run / "release").exists():
    time.sleep(0.05)
"""
SECONDS = 25.0
"""Within which all other ranks have to be gone: Open MPI and Slurm give 5 to 10 s between TERM and KILL. On a machine
under load STRETCH times that: long before their program or the walltime would end."""
SHAPES = {"local": (1, 2), "slurm": (2, 1), "pbs": (1, 2)}
"""Nodes and ranks a node."""
CASES = [
    *(("local", launcher) for launcher in ("local", "mpirun")),
    *(("slurm", launcher) for launcher in ("srun", "mpirun", "torchrun")),
]


def _case(scheduler: str, launcher: str) -> Any:
    marks = [pytest.mark.slurm] if scheduler == "slurm" else []
    marks += {"mpirun": [pytest.mark.mpi], "torchrun": [pytest.mark.torch]}.get(launcher, [])
    return pytest.param((scheduler, launcher), marks=marks, id=f"{scheduler}-{launcher}")


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project with two ranks that wait, on the back-end and with the launcher of the case."""
    scheduler, launcher = request.param
    if launcher == "torchrun":
        pytest.importorskip("torch", reason="no torch")
    made: Backend
    match scheduler:
        case "slurm":
            made = SlurmBackend(request.getfixturevalue("slurm"))
        case "pbs":
            made = PbsBackend(tmp_path)
        case _:
            made = LocalBackend(tmp_path)
    yield make_site(made, tmp_path / "project", launcher)
    made.stop()


def make_site(backend: Backend, folder: Path, launcher: str, **profile: Any) -> Site:
    """Return a project whose job waits, on as many nodes as the launcher can."""
    site = Site(backend, folder)
    nodes, per_node = (1, 2) if launcher == "local" else SHAPES[backend.scheduler]
    shape = {"nodes": nodes, "processes_per_node": per_node, "processes": 2}
    site.write_project("python waits.py", launcher=launcher, walltime="600s", **shape)
    site.write_profile(processes_per_node=per_node, launchers=["local", "mpirun", "torchrun", "srun"], **profile)
    (site.folder / "waits.py").write_text(PROGRAM)
    return site


every = pytest.mark.parametrize("site", [_case(*case) for case in CASES], indirect=True)
scripts = pytest.mark.parametrize(
    "site", [_case("local", "local"), _case("slurm", "local"), _case("slurm", "srun")], indirect=True
)
on_slurm = pytest.mark.parametrize("site", [_case("slurm", "srun")], indirect=True)
on_pbs = pytest.mark.parametrize("site", [_case("pbs", "local")], indirect=True)


def waiting(site: Site, *words: str, attempt: int = 1) -> Run:
    """Return a run of which both ranks are in their program."""
    run = site.submit(*words)
    await_ranks(run, attempt)
    return run


def await_ranks(run: Run, attempt: int = 1) -> None:
    for rank in (0, 1):
        run.written(f"here-{attempt}-{rank}")


def processes_of(run: Run) -> dict[int, tuple[list[str], dict[str, str]]]:
    """Return pid → (words, environment) of all processes of a run on this machine, also inside the virtual nodes."""
    found = {}
    mark = os.fsencode(run.id)
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words, variables = (path / "cmdline").read_bytes(), (path / "environ").read_bytes()
            if words and int(path.name) != os.getpid() and (mark in words or mark in variables):
                pairs = (pair.partition("=") for pair in os.fsdecode(variables).split("\0"))
                found[int(path.name)] = (os.fsdecode(words).split("\0")[:-1], {key: value for key, _, value in pairs})
    return found


def rank_process(run: Run, rank: int) -> int:
    """Return the number, on this machine, of a rank's program."""
    (pid,) = (
        pid
        for pid, (words, variables) in processes_of(run).items()
        if words[-1] == "waits.py" and variables.get("RANK") == str(rank) and "torchrun" not in " ".join(words)
        if words[0].endswith("python") or words[0].endswith("python3")
    )
    return pid


def script_process(run: Run) -> int:
    """Return the number, on this machine, of the shell that runs the job script; its subshells look the same."""
    shells = {
        pid
        for pid, (words, _) in processes_of(run).items()
        if len(words) == 2 and words[0].endswith("bash") and Path(words[1]).name in ("slurm_script", "script")
    }
    parents = {}
    for pid in shells:
        with contextlib.suppress(OSError):  # a subshell that has ended meanwhile
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    (pid,) = (pid for pid, parent in parents.items() if parent not in shells)
    return pid


def all_gone(run: Run, since: float) -> None:
    """Wait until no process of the run is left."""
    try:
        until(lambda: not processes_of(run), "the end of all processes", SECONDS)
    except AssertionError as error:
        raise AssertionError(f"left behind: {[words for words, _ in processes_of(run).values()]}") from error
    assert time.monotonic() - since < STRETCH * SECONDS


@every
def test_sigkill_of_a_rank_ends_the_others(site: Site) -> None:
    run = waiting(site)
    began = time.monotonic()
    os.kill(rank_process(run, 1), signal.SIGKILL)
    all_gone(run, began)
    state = site.await_state(run, "FAILED")
    # torchrun has an exit code of its own, srun takes the highest one: 128 + TERM of the ranks that it ended
    launcher = json.loads((run.path / "request.json").read_text())["launcher"]
    own = {"torchrun": ("exit", 1, None), "srun": ("signal", 143, 15)}
    passed_on = ("signal", 137, 9)
    assert (state["cause"], state["exit_code"], state["signal"]) in (own.get(launcher, passed_on), passed_on)
    ended = run.rank_events(1)[-1]
    assert (ended["event"], ended["exit_code"], ended["signal"]) == ("ended", 137, 9)


@every
def test_cancel_ends_every_rank(site: Site) -> None:
    run = waiting(site)
    began = time.monotonic()
    site.run("cancel", run.id)
    all_gone(run, began)
    assert site.await_state(run, "CANCELLED")["cause"] == "cancelled"


@scripts
def test_sigkill_of_the_script_is_told_by_the_scheduler(site: Site) -> None:
    run = waiting(site)
    began = time.monotonic()
    os.kill(script_process(run), signal.SIGKILL)
    all_gone(run, began)
    assert not run.has("ended")  # nobody was there to write it
    state = site.await_state(run, "FAILED")
    assert (state["cause"], state["exit_code"], state["signal"]) == ("signal", None, 9)


@on_slurm
def test_requeue_keeps_the_run_and_raises_the_attempt(site: Site, slurm: SlurmLab) -> None:
    run = waiting(site)
    slurm.run("scontrol", "requeue", run.job_id)
    await_ranks(run, attempt=2)
    state = site.state(run)
    assert (state["state"], state["attempt"], state["job_id"]) == ("RUNNING", 2, run.job_id)
    (run.path / "release").touch()
    state = site.await_state(run, "SUCCEEDED")
    assert (state["attempt"], state["exit_code"]) == (2, 0)
    assert [event["attempt"] for event in run.job_events if event["event"] == "started"] == [1, 2]
    assert site.backend.jobs_named(f"hk-{run.id[-8:]}") == [run.job_id]


@pytest.mark.slurm
def test_dead_node_ends_the_job_and_the_ranks_elsewhere(slurm: SlurmLab, tmp_path: Path) -> None:
    site = make_site(SlurmBackend(slurm), tmp_path / "project", "srun", directives=["--no-requeue"])
    run = waiting(site)
    hosts = [run.rank_events(rank)[0]["host"] for rank in (0, 1)]
    number = int(slurm.run("squeue", "-hj", run.job_id, "-o", "%N").strip().rstrip("]")[-1])  # the last of node[1-2]
    if slurm.network != "flat":
        assert hosts[1] == f"node{number}" != hosts[0]
    slurm.kill_node(number)
    try:
        state = site.await_state(run, "NODE_FAILED", seconds=90)  # SlurmdTimeout and its poll: about 30 s
        assert state["cause"] == "node"
        all_gone(run, time.monotonic())
    finally:
        slurm.restore_node(number)
        site.backend.stop()


@pytest.mark.slurm
def test_dead_node_of_a_job_that_may_be_queued_again(slurm: SlurmLab, tmp_path: Path) -> None:
    """Slurm's default: the same run begins anew on other nodes, as its second attempt."""
    site = make_site(SlurmBackend(slurm), tmp_path / "project", "local")
    run = waiting(site)
    number = int(slurm.run("squeue", "-hj", run.job_id, "-o", "%N").strip()[-1])
    slurm.kill_node(number)
    try:
        until(lambda: (run.path / "here-2-1").exists(), "the second attempt", 120)
        assert site.state(run)["attempt"] == 2
        (run.path / "release").touch()
        assert site.await_state(run, "SUCCEEDED")["attempt"] == 2
    finally:
        slurm.restore_node(number)
        site.backend.stop()


@on_pbs
def test_out_of_memory_is_a_cause_of_its_own(site: Site) -> None:
    """The lab's Slurm has no cgroups, so nobody counts memory there; the stand-in gives PBS's answer."""
    assert isinstance(site.backend, PbsBackend)
    pbs.break_command(site.backend.state, "mom", "mem", 1)
    run = site.submit()
    state = site.await_state(run, "OUT_OF_MEMORY")
    assert state["cause"] == "memory"
    all_gone(run, time.monotonic())


@on_pbs
def test_dead_node_under_pbs_stays_running_until_the_server_knows(site: Site) -> None:
    """A PBS server shows R for a job on a dead node: no `ended`, no cause, so nothing is invented."""
    assert isinstance(site.backend, PbsBackend)
    pbs.break_command(site.backend.state, "mom", "dead", 1)
    run = site.submit()
    until(lambda: site.backend.attributes(run.job_id)["job_state"] == "R", "the job's start")  # type: ignore[attr-defined]
    assert site.state(run)["state"] == "RUNNING"
    assert not run.has("ended")
