"""The recipe torch-ddp-tuned on two nodes of the real Slurm."""

import json
import shutil
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend
from support.installed import needs
from support.slurm_lab.lab import SlurmLab

needs("torch", "sklearn")
pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]
# a part of the usual work: the recipe's own tests learn to the end
SHORT = ("--walltime", "00:40:00", "--threads", "1", "-p", "epochs=1", "-p", "optimizer=lars", "-p", "accumulate=2")


def _final(site: Site, run: str) -> dict[str, float]:
    final: dict[str, float] = json.loads(
        (site.folder / "runs" / run / "metrics/rank-0.jsonl").read_text().splitlines()[-1]
    )
    return final


@pytest.mark.slurm
@pytest.mark.parametrize("launcher", ["torchrun", "mpirun", "srun"])
def test_two_nodes(slurm: SlurmLab, tmp_path: Path, launcher: str) -> None:
    site = Site(SlurmBackend(slurm), tmp_path)
    site.backend.trains = True
    site.run("init", "--recipe", "torch-ddp-tuned", str(tmp_path / "project"))
    site.folder = tmp_path / "project"
    site.choose_programs()
    if launcher == "mpirun" and not shutil.which("mpirun", path=site.backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    nodes = ("--cluster", "slurm", "--nodes", "2", "--processes", "2", "--processes-per-node", "1")
    site.run("submit", *nodes, "--launcher", launcher, *SHORT, "--wait", seconds=600)
    (run,) = (site.folder / "runs").glob("*-2p-*")
    final = _final(site, run.name)
    assert final["rank_sum"] == 3 and final["weight_spread"] <= 1e-4
    hosts = {json.loads(line)["host"] for rank in (0, 1)
             for line in (run / f"events/rank-{rank}.jsonl").read_text().splitlines()}  # fmt: skip
    assert len(hosts) == (2 if site.backend.node_names else 1)
