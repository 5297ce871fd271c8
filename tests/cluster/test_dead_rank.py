"""A rank that is killed in the middle of a collective ends the job, and `status` names it with its host.

Rank 1 of two ends itself with SIGKILL while the other one waits for it. A framework is added with its program in
PROGRAMS and one line in CASES for each launcher; `prepare` stands before each program and gives it `die_alone`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site, SlurmBackend
from support.patience import STRETCH

LIMIT = STRETCH * 60.0
"""Seconds from the death of a rank to the end of its job."""
SHAPES = {"local": (1, 2), "slurm": (2, 1)}
"""Nodes and ranks a node."""
PREPARE = """
import os, pathlib, signal, sys, time
run, rank = pathlib.Path(os.environ["HK_RUN"]), int(os.environ["RANK"])

def die_alone(step):
    "Rank 1 is killed in the third step, when the others are about to wait for it."
    if step == 3 and rank != 1:
        (run / "waits").touch()
    if step == 3 and rank == 1:
        while not (run / "waits").exists():
            time.sleep(0.02)
        time.sleep(0.5)  # from the file to the collective
        os.kill(os.getpid(), signal.SIGKILL)
"""
PROGRAMS = {
    "gloo": """
import torch, torch.distributed as dist
dist.init_process_group("gloo", rank=rank, world_size=2)
for step in range(1000000):
    die_alone(step)
    dist.all_reduce(torch.ones(1000))
""",
    "mpi": """
import numpy
from mpi4py import MPI
box = numpy.ones(1000)
for step in range(1000000):
    die_alone(step)
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, box)
""",
    # what a collective on a GPU does: it notices nothing; and a handler of Python's never comes to its turn in it
    "deaf": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for step in range(4):
    die_alone(step)
end = time.monotonic() + 1000
while time.monotonic() < end:
    time.sleep(1)
""",
    # killed with the shell that would have told of it
    "silent": """
if rank == 1:
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(1000)
""",
}
SILENT = [("silent", "local", "local"), ("silent", "slurm", "srun")]
CASES = [
    ("gloo", "local", "local"),
    *(("gloo", "slurm", launcher) for launcher in ("srun", "mpirun", "torchrun")),
    ("mpi", "local", "mpirun"),
    ("deaf", "slurm", "srun"),
    ("deaf", "slurm", "torchrun"),
]
FIRST_PART = {("gloo", "local", "local"), ("mpi", "local", "mpirun"), ("gloo", "slurm", "srun")}
"""Cases of the first part of CI."""
NEEDS = {"gloo": "torch", "mpi": "mpi4py"}


def _case(program: str, scheduler: str, launcher: str) -> Any:
    marks = [pytest.mark.slurm] if scheduler == "slurm" else []
    marks += {"mpirun": [pytest.mark.mpi], "torchrun": [pytest.mark.torch]}.get(launcher, [])
    marks += [] if (program, scheduler, launcher) in FIRST_PART else [pytest.mark.slow]
    return pytest.param((program, scheduler, launcher), marks=marks, id=f"{program}-{scheduler}-{launcher}")


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project with the case's program on two ranks, on two nodes where the back-end has them."""
    program, scheduler, launcher = request.param
    for needed in {NEEDS.get(program), {"torchrun": "torch"}.get(launcher)} - {None}:
        pytest.importorskip(str(needed))
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if scheduler == "slurm" else LocalBackend(tmp_path)
    # the other programs do without torch; "silent" kills its parent, the rank's shell
    backend.trains = program == "gloo" or launcher == "torchrun"
    if launcher == "mpirun" and not shutil.which("mpirun", path=backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    nodes, per_node = SHAPES[scheduler]
    made = Site(backend, tmp_path / "project")
    words = {"launcher": launcher, "nodes": nodes, "processes_per_node": per_node, "processes": 2}
    made.write_project("python dies.py", **words, walltime="1000s")
    made.write_profile(processes_per_node=per_node, launchers=["local", "mpirun", "torchrun", "srun"])
    (made.folder / "dies.py").write_text(PREPARE + PROGRAMS[program])
    yield made
    backend.stop()


@pytest.mark.parametrize("site", [_case(*case) for case in CASES], indirect=True)
@pytest.mark.slow
def test_a_killed_rank_ends_the_job_and_is_named(site: Site) -> None:
    run = site.submit()
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", "CANCELLED", seconds=LIMIT)
    assert state["state"] == "FAILED", state
    died = next(event for event in run.rank_events(1) if event["event"] == "ended")
    assert (died["exit_code"], died["signal"]) == (137, 9)
    ended = run.job_events[-1]
    assert ended["event"] == "ended"
    assert 0 <= ended["t"] - died["t"] < LIMIT
    host = site.backend.node_names[1] if site.backend.node_names else os.uname().nodename
    assert (state["first_rank"], state["first_signal"], died["host"]) == (1, 9, state["first_host"])
    assert state["first_host"] == host
    said = site.run("status", "--no-ask", run.id).decode()
    assert f"rank 1 on {host}" in said
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"], cause["evidence"]["host"]) == ("hardware", 1, host), cause


@pytest.mark.parametrize("site", [_case(*case) for case in SILENT], indirect=True)
def test_a_rank_killed_with_its_shell_ends_the_job_and_is_named(site: Site) -> None:
    run = site.submit()
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", "CANCELLED", seconds=LIMIT)
    assert [event["event"] for event in run.rank_events(1)] == ["started"]
    host = site.backend.node_names[1] if site.backend.node_names else os.uname().nodename
    assert (state["first_rank"], state["first_host"], state["first_exit_code"]) == (1, host, None)
    assert 0 <= run.job_events[-1]["t"] - run.rank_events(1)[0]["t"] < LIMIT
    said = site.run("status", "--no-ask", "--lang", "en", run.id).decode()
    assert f"a process on {host} (rank 1) was the first to stop, without output" in said
