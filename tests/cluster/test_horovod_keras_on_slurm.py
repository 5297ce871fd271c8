"""Keras over Horovod on two nodes of the real Slurm, under each of the recipe's launchers."""

import json
import shutil
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend
from support.slurm_lab.lab import SlurmLab
from support.stacks import BUILDING, FOLDER, warm_path

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.timeout(BUILDING),  # the first test builds Horovod
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("c++"), reason="no compiler and CMake"),
]


@pytest.mark.parametrize("launcher", ["horovodrun", "mpirun"])
def test_two_nodes_train_together(slurm: SlurmLab, tmp_path: Path, launcher: str) -> None:
    warm = [f'PATH="{warm_path("horovod-keras")}:$PATH"']
    site = Site(SlurmBackend(slurm), tmp_path / "project", {"HACKATHON_ENVS": str(FOLDER)})
    site.folder.mkdir()
    project = {
        "name": "small",
        "recipe": "horovod-keras",
        "cluster": "lab",
        "launcher": launcher,
        "walltime": "2400s",
        "environment": warm,
    }
    (site.folder / "project.yaml").write_text(json.dumps(project | {"nodes": 2, "parameters": {"epochs": 2}}))
    site.write_profile(processes_per_node=1, launchers=["horovodrun", "mpirun"], environment=[])
    run = site.submit()
    state = site.await_state(run, "SUCCEEDED", "FAILED", "TIMEOUT", seconds=700)
    assert state["state"] == "SUCCEEDED", run.log("job")
    hosts = [run.rank_events(rank)[0]["host"] for rank in range(2)]
    assert len(set(hosts)) == (2 if site.backend.node_names else 1)
    for rank in range(2):
        final = json.loads((run.path / f"metrics/rank-{rank}.jsonl").read_text().splitlines()[-1])
        assert (final["rank_sum"], final["weights_apart"], final["epochs"]) == (3, 0, 2)
        assert final["gradient_check"] < 1e-6
