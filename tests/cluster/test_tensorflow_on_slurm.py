"""TensorFlow's workers find each other on two nodes of the real Slurm; a dead one ends the job and is named."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Run, Site, SlurmBackend, json_lines, until
from support.patience import STRETCH
from support.rank_process import rank_process
from support.stacks import FOLDER, warm_path

NAME = "tensorflow-multiworker"
LIMIT = 60.0
"""Seconds from the death of a rank to the end of its job."""
pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.timeout(900)]


@pytest.fixture(params=["srun", pytest.param("mpirun", marks=pytest.mark.mpi)])
def site(request: pytest.FixtureRequest, slurm: Any, tmp_path: Path) -> Iterator[Site]:
    """A project around the recipe with two ranks on two nodes."""
    launcher, backend = request.param, SlurmBackend(slurm)
    if launcher == "mpirun" and not shutil.which("mpirun", path=backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    made = Site(backend, tmp_path / "project", {"HACKATHON_ENVS": str(FOLDER)})
    keys = {"launcher": launcher, "nodes": 2, "processes": 2, "processes_per_node": 1, "walltime": "3600s"}
    made.folder.mkdir()
    warm = [f'PATH="{warm_path(NAME)}:$PATH"']
    project = {"name": "small", "recipe": NAME, "cluster": "lab", "environment": warm, **keys}
    (made.folder / "project.yaml").write_text(json.dumps(project))
    # the submitter's PATH stays behind the environment of the recipe
    made.write_profile(processes_per_node=1, launchers=["srun", "mpirun"], environment=[])
    yield made
    backend.stop()


def _metrics(run: Run) -> list[dict[str, Any]]:
    return json_lines(run.path / "metrics" / "rank-0.jsonl")


def test_two_nodes_train_together_and_a_dead_rank_ends_the_job(site: Site, request: pytest.FixtureRequest) -> None:
    launcher = request.node.callspec.params["site"]
    # the recipe's own number once
    run = site.submit(*(() if launcher == "srun" else ("-p", "epochs=8", "-p", "lr=0.1")))
    state = site.await_state(run, "SUCCEEDED", "FAILED", seconds=500)
    assert state["state"] == "SUCCEEDED", run.log("job") + run.log()
    final = _metrics(run)[-1]
    assert final["accuracy"] >= (0.97 if launcher == "srun" else 0.95) and final["rank_sum"] == 3, run.log()
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(2)]
    assert len(set(hosts)) == 2
    if launcher == "mpirun":  # how a death reaches mpirun is shown by `test_dead_rank`, without a framework
        return
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
