"""Stages of pipeline-lm on two nodes of the real Slurm learn what one process learns; a dead rank's stage is named."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend, json_lines, until
from support.patience import STRETCH
from support.rank_process import rank_process
from support.slurm_lab.lab import SlurmLab
from support.training import Training, good

LIMIT = STRETCH * 60.0
"""Seconds from the death of a rank to the end of its job."""
OPTIONS = {"width": 16, "heads": 2, "sequence": 32, "dropout": 0.1, "lr": 0.001, "steps": 3}
BATCH = 128
"""Sequences of a step, of all processes together: to test all of the text takes few of these."""
SMALL = tuple(word for name, value in OPTIONS.items() for word in ("-p", f"{name}={value}"))
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


@pytest.fixture(params=["torchrun"])
def site(slurm: SlurmLab, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A project around the recipe with four ranks, two on each of two nodes."""
    pytest.importorskip("torch")
    backend = SlurmBackend(slurm)
    backend.trains = True
    made = Site(backend, tmp_path / "project")
    keys = {"launcher": request.param, "nodes": 2, "processes": 4, "processes_per_node": 2, "walltime": "1800s"}
    made.folder.mkdir()
    project = {"name": "small", "recipe": "pipeline-lm", "cluster": "lab", **keys}
    (made.folder / "project.yaml").write_text(json.dumps(project))
    made.write_profile(processes_per_node=2)
    yield made
    backend.stop()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, warm_python: str) -> float:
    """The bits per byte that one process reaches with the same batches."""
    place = Training("pipeline-lm", tmp_path_factory.mktemp("alone"), warm_python)
    words = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
    good(place.train(1, *words, "--batch-size", str(BATCH), "--checkpoint-every", "0"))
    reached: float = place.final()["bits_per_byte"]
    return reached


def test_two_nodes_learn_what_one_process_learns(site: Site, alone: float) -> None:
    run = site.submit(*SMALL, "-p", f"batch_size={BATCH // 4}")
    site.await_state(run, "SUCCEEDED", "FAILED", seconds=200)
    final = json_lines(run.path / "metrics" / "rank-0.jsonl")[-1]
    assert (final["steps"], final["rank_sum"], final["stages"]) == (3, 10, 4), run.log()
    assert final["bits_per_byte"] == pytest.approx(alone, abs=1e-5)
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(4)]
    assert len(set(hosts)) == 2
    assert [path.name for path in (run.path / "checkpoints").iterdir()] == ["step-00000003"]
    plan = json.loads((run.path / "plan.json").read_text())
    assert [each["replicas"] for each in plan["stages"]] == [1, 1, 1, 1]


@pytest.mark.parametrize("site", ["srun"], indirect=True)
def test_a_dead_rank_is_named_with_its_stage(site: Site) -> None:
    # two stages with two replicas: rank 3 is the second replica of the last stage
    endless = ("-p", "batch_size=2", "-p", "steps=10000000", "-p", "checkpoint_every=0", "-p", "stages=2")
    run = site.submit(*SMALL, *endless)
    until(lambda: run.path.joinpath("logs/rank-0.log").exists() and "step 35" in run.log(), "training", 200)
    os.kill(rank_process(run, 3), signal.SIGKILL)
    state = site.await_state(run, "FAILED", "SUCCEEDED", "TIMEOUT", "CANCELLED", seconds=LIMIT)
    assert state["state"] == "FAILED", state
    died = run.rank_events(3)[-1]
    assert (died["event"], died["exit_code"], died["signal"]) == ("ended", 137, 9)
    assert 0 <= run.job_events[-1]["t"] - died["t"] < LIMIT
    assert (state["first_rank"], state["first_host"], state["first_signal"]) == (3, died["host"], 9)
    logs = "".join(run.log(path.stem) for path in (run.path / "logs").glob("rank-*.log"))
    assert "stage 1, replica 1 (rank 3) does not answer" in logs, logs[-4000:]
