"""The communication benchmark between two nodes of the real Slurm, and its measurement kept with the cluster."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from support.backends import Run, Site, SlurmBackend
from support.paths import ROOT
from support.slurm_lab.lab import SlurmLab

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.skipif(not shutil.which("torchrun", path=Path(sys.executable).parent), reason="no torch"),
]
SMALL = ("--walltime", "00:20:00", "-p", "max_size=256KiB", "-p", "iterations=3")


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Site:
    """A project around the recipe, as `init` makes it, for the shipped profile `slurm`."""
    folder = tmp_path / "talk"
    made = Site(SlurmBackend(slurm), tmp_path)
    made.backend.trains = True
    made.run("init", "--recipe", "allreduce", str(folder))
    made.folder = folder
    return made


def _hosts(site: Site, nodes: int) -> int:
    """Return how many names the hosts have: one where all virtual nodes share it (no rights to make namespaces)."""
    return nodes if site.backend.node_names else 1


def test_measured_inside_a_node_and_between_nodes(site: Site) -> None:
    # a profile of that name, as shipped but for its programs: what is measured takes nothing from the project
    profile = site.folder / "templates" / "clusters" / "slurm.yaml"
    profile.parent.mkdir(parents=True, exist_ok=True)
    shipped = (ROOT / "templates" / "clusters" / "slurm.yaml").read_text()
    profile.write_text(f"{shipped}environment: {json.dumps(site.backend.profile()['environment'])}\n")
    answer = json.loads(site.run("clusters", "slurm", "--measure", *SMALL, "--json", seconds=200))
    found = answer["measured"]
    assert [(each["nodes"], each["processes"], each["hosts"]) for each in found] == [
        (1, 2, 1), (2, 4, _hosts(site, 2))
    ]  # fmt: skip
    inside, between = (Run(site.folder / "runs" / each["run"], each["job_id"]) for each in found)
    ended = max(event["t"] for event in inside.rank_events(0))
    assert min(event["t"] for event in between.rank_events(0)) >= ended, "one job must not disturb the other"
    for each in found:
        assert list(each["operations"]) == ["all-reduce", "all-gather", "reduce-scatter", "broadcast"]
        assert all(operation["busbw_gb_s"] > 0 for operation in each["operations"].values())
    assert json.loads(site.run("clusters", "slurm", "--json"))["measured"] == found
    assert json.loads(Path(answer["file"]).read_text())["measured"] == found


@pytest.mark.parametrize(
    ("launcher", "backend"), [("torchrun", "gloo"), ("srun", "gloo"), ("mpirun", "gloo"), ("mpirun", "mpi")]
)
def test_two_nodes(site: Site, launcher: str, backend: str) -> None:
    if launcher == "mpirun" and not shutil.which("mpirun", path=site.backend.environment()["PATH"]):
        pytest.skip("no mpirun")
    if backend == "gloo":  # MPI belongs to the process that mpirun started, not to a fork elsewhere
        site.choose_programs()
    words = ["--cluster", "slurm", "--nodes", "2", "--launcher", launcher, "-p", f"backend={backend}", *SMALL]
    site.run("submit", *words, "--wait", seconds=200)
    (run,) = (site.folder / "runs").glob("*-4p-*")
    result = json.loads((run / "allreduce.json").read_text())
    assert (result["backend"], result["processes"], result["errors"]) == (backend, 4, 0)
    assert result["nodes"] == _hosts(site, 2)
