"""The shards of torch-fsdp-lm meet on two nodes of the real Slurm; a dead rank ends the job and is named."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend, json_lines, until
from support.patience import STRETCH
from support.rank_process import rank_process
from support.slurm_lab.lab import SlurmLab

LIMIT = STRETCH * 60.0
"""Seconds from the death of a rank to the end of its job."""
SMALL = tuple(
    word for each in ("width=16", "heads=2", "sequence=32", "batch_size=2", "steps=2") for word in ("-p", each)
)
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not shutil.which("torchrun", path=Path(sys.executable).parent), reason="no torch"),
]
LAUNCHERS = ["torchrun", "srun", pytest.param("mpirun", marks=pytest.mark.mpi)]


@pytest.fixture(params=LAUNCHERS)
def site(slurm: SlurmLab, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project around the recipe with two ranks on two nodes."""
    launcher, backend = request.param, SlurmBackend(slurm)
    if launcher == "mpirun" and not shutil.which("mpirun", path=backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    backend.trains = True
    made = Site(backend, tmp_path / "project")
    keys = {"launcher": launcher, "nodes": 2, "processes": 2, "processes_per_node": 1, "walltime": "1800s"}
    made.folder.mkdir()
    project = {"name": "small", "recipe": "torch-fsdp-lm", "cluster": "lab", **keys}
    (made.folder / "project.yaml").write_text(json.dumps(project))
    made.write_profile(processes_per_node=1)
    yield made
    backend.stop()


def test_two_nodes_train_together(site: Site) -> None:
    # large batches: to test all of the text takes few
    run = site.submit(*SMALL, "-p", "batch_size=64")
    site.await_state(run, "SUCCEEDED", "FAILED", seconds=200)
    final = json_lines(run.path / "metrics" / "rank-0.jsonl")[-1]
    assert (final["steps"], final["rank_sum"]) == (2, 3), run.log()
    assert final["gradient_check"] < 1e-6 and final["bits_per_byte"] < 8.5
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(2)]
    assert len(set(hosts)) == (2 if site.backend.node_names else 1)
    (saved,) = (run.path / "checkpoints").iterdir()
    assert sorted(path.name for path in saved.iterdir()) == [".metadata", "__0_0.distcp", "__1_0.distcp"]


@pytest.mark.parametrize("site", ["srun"], indirect=True)
def test_a_dead_rank_ends_the_job(site: Site) -> None:
    run = site.submit(*SMALL, "-p", "steps=10000000", "-p", "checkpoint_every=0")
    until(lambda: run.path.joinpath("logs/rank-0.log").exists() and "step 35" in run.log(), "training", 200)
    os.kill(rank_process(run, 1), signal.SIGKILL)
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", "CANCELLED", seconds=LIMIT)
    assert state["state"] == "FAILED", state
    died = run.rank_events(1)[-1]
    assert (died["event"], died["exit_code"], died["signal"]) == ("ended", 137, 9)
    assert 0 <= run.job_events[-1]["t"] - died["t"] < LIMIT
    assert (state["first_rank"], state["first_host"], state["first_signal"]) == (1, died["host"], 9)
    assert f"rank 1 on {died['host']}" in site.run("status", "--no-ask", run.id).decode()
