"""TensorFlow's workers find each other on two nodes of the real Slurm; a dead one ends the job and is named."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Run, Site, SlurmBackend, json_lines, until
from support.patience import STRETCH
from support.rank_process import rank_process
from support.stacks import FOLDER, warm_path

NAME = "tensorflow-multiworker"
LIMIT = 60.0
"""Seconds from the death of a rank to the end of its job."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CASES = [
    pytest.param(("local", "local"), id="local-local"),
    pytest.param(("slurm", "srun"), marks=pytest.mark.slurm, id="slurm-srun"),
    pytest.param(("slurm", "mpirun"), marks=[pytest.mark.slurm, pytest.mark.mpi], id="slurm-mpirun"),
]


@pytest.fixture(params=CASES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project around the recipe with two ranks, on two nodes where the back-end has them."""
    scheduler, launcher = request.param
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if scheduler == "slurm" else LocalBackend(tmp_path)
    if launcher == "mpirun" and not shutil.which("mpirun", path=backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    made = Site(backend, tmp_path / "project", {"HACKATHON_ENVS": str(FOLDER)})
    nodes, per_node = (2, 1) if scheduler == "slurm" else (1, 2)
    keys = {"launcher": launcher, "nodes": nodes, "processes": 2, "processes_per_node": per_node, "walltime": 3600}
    made.folder.mkdir()
    warm = [f'PATH="{warm_path(NAME)}:$PATH"']
    project = {"name": "small", "recipe": NAME, "cluster": "lab", "environment": warm, **keys}
    (made.folder / "project.yaml").write_text(json.dumps(project))
    # the submitter's PATH stays behind the environment of the recipe
    made.write_profile(processes_per_node=per_node, launchers=["local", "srun", "mpirun"], environment=[])
    yield made
    backend.stop()


def _metrics(run: Run) -> list[dict[str, Any]]:
    return json_lines(run.path / "metrics" / "rank-0.jsonl")


def test_two_nodes_train_together_and_a_dead_rank_ends_the_job(site: Site) -> None:
    run = site.submit()
    site.await_state(run, "SUCCEEDED", "FAILED", seconds=500)
    final = _metrics(run)[-1]
    assert final["accuracy"] >= 0.97 and final["rank_sum"] == 3, run.log()
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(2)]
    assert len(set(hosts)) == (2 if site.backend.node_names else 1)

    run = site.submit("-p", "epochs=100000", "-p", "checkpoint_every=0")
    until(lambda: run.path.joinpath("logs/rank-0.log").exists() and "step 35" in run.log(), "training", 300)
    os.kill(rank_process(run, 1), signal.SIGKILL)
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", seconds=3 * LIMIT)
    assert state["state"] == "FAILED", state
    died = run.rank_events(1)[-1]
    assert (died["event"], died["exit_code"], died["signal"]) == ("ended", 137, 9)
    assert 0 <= run.job_events[-1]["t"] - died["t"] < STRETCH * LIMIT
    assert (state["first_rank"], state["first_host"], state["first_signal"]) == (1, hosts[1], 9)
    assert f"rank 1 on {hosts[1]}" in site.run("status", "--no-ask", run.id).decode()
    cause = site.diagnosed(run)
    assert (cause["part"], cause["evidence"]["rank"], cause["evidence"]["host"]) == ("hardware", 1, hosts[1]), cause
