"""Horovod on two nodes of the real Slurm under each of its launchers, and on two hosts of the PBS stand-in."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, PbsBackend, Site, SlurmBackend, until
from support.patience import STRETCH
from support.rank_process import rank_process
from support.stacks import BUILDING, FOLDER, warm_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(BUILDING),  # the first test builds Horovod
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("c++"), reason="no compiler and CMake"),
]
LAUNCHERS = ["horovodrun", "horovodrun-mpi", "mpirun"]


@pytest.fixture(params=[pytest.param("slurm", marks=pytest.mark.slurm), "pbs"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project around the recipe in a folder with an odd name, one process on each of two nodes."""
    warm = warm_path("horovod-torch")
    slurm = request.param == "slurm"
    backend: Backend = SlurmBackend(request.getfixturevalue("slurm")) if slurm else PbsBackend(tmp_path)
    if isinstance(backend, PbsBackend):  # all its hosts are this machine: the others need an address that looks remote
        hosts = backend.state / "etc" / "hosts"
        hosts.parent.mkdir(exist_ok=True)
        hosts.write_text("127.0.0.1 localhost pn01\n127.0.0.2 pn02\n127.0.0.3 pn03\n127.0.0.4 pn04\n")
    made = Site(backend, tmp_path, {"HACKATHON_ENVS": str(FOLDER)})
    made.run("init", "--recipe", "horovod-torch", "project $(touch pwned) it's")
    made.folder = tmp_path / "project $(touch pwned) it's"
    with (made.folder / "project.yaml").open("a") as project:
        project.write(f"environment: ['PATH=\"{warm}:$PATH\"']\n")
    made.write_profile(processes_per_node=1, launchers=LAUNCHERS)
    yield made
    backend.stop()
    assert not list(tmp_path.rglob("pwned"))


def _words(launcher: str, *parameters: str) -> list[str]:
    given = [word for parameter in parameters for word in ("-p", parameter)]
    return ["--cluster", "lab", "--nodes", "2", "--launcher", launcher, "--walltime", "00:30:00", *given]


def _hosts(site: Site, run: Any) -> list[str]:
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(2)]
    if site.backend.node_names:
        assert hosts[0] != hosts[1] and set(hosts) <= set(site.backend.node_names)
    return hosts


@pytest.mark.parametrize(
    ("site", "launcher"),
    [*(pytest.param("slurm", name, marks=pytest.mark.slurm) for name in LAUNCHERS), ("pbs", "horovodrun")],
    indirect=["site"],
)
def test_two_nodes_train_together(site: Site, launcher: str) -> None:
    run = site.submit(*_words(launcher, "epochs=2", "lr=0.1"))
    state = site.await_state(run, "SUCCEEDED", "FAILED", "TIMEOUT", seconds=300)
    assert state["state"] == "SUCCEEDED", run.log("job")
    _hosts(site, run)
    for rank in range(2):
        final = json.loads((run.path / f"metrics/rank-{rank}.jsonl").read_text().splitlines()[-1])
        assert (final["rank_sum"], final["weights_apart"]) == (3, 0)
        assert final["gradient_check"] < 1e-6 and final["accuracy"] > 0.3
        events = run.rank_events(rank)
        assert (events[0]["event"], events[-1]["event"], events[-1]["exit_code"]) == ("started", "ended", 0)


@pytest.mark.slurm
@pytest.mark.parametrize("site", ["slurm"], indirect=True)
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_killed_rank_on_the_other_node_ends_the_job(site: Site, launcher: str) -> None:
    run = site.submit(*_words(launcher, "epochs=100000", "checkpoint_every=0"))
    metrics = run.path / "metrics/rank-0.jsonl"
    until(lambda: metrics.exists() and metrics.stat().st_size, f"training; see {run.path}/logs", seconds=120)
    hosts = _hosts(site, run)
    os.kill(rank_process(run, 1), signal.SIGKILL)
    killed = time.time()
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", seconds=120)
    assert (state["state"], state["first_rank"], state["first_signal"]) == ("FAILED", 1, 9), run.log("job")
    assert state["first_host"] == hosts[1]
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"], cause["evidence"]["host"]) == ("hardware", 1, hosts[1]), cause
    assert run.job_events[-1]["event"] == "ended" and run.job_events[-1]["t"] - killed < STRETCH * 60
