"""`hackathon clusters new` and `check --live` on the real Grid Engine: its jobs get the GPUs that it counts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Site
from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.patience import STRETCH
from support.virtual_nodes.processes import until

pytestmark = [pytest.mark.gridengine, pytest.mark.slow]


@pytest.fixture
def site(gridengine: GridEngineLab, tmp_path: Path) -> Iterator[Site]:
    """A project beside a Grid Engine whose hosts have four GPUs each, requested for each slot."""
    made = Site(GridEngineBackend(gridengine), tmp_path / "work")
    made.write_project(f"bash -c 'until [ -e {tmp_path}/done ]; do sleep 0.2; done'")
    before = gridengine.run("qconf", "-sc")
    complexes = tmp_path / "complexes"
    complexes.write_text(before + "gpu gpu INT <= YES YES 0 0\n")
    gridengine.run("qconf", "-Mc", str(complexes))
    for host in gridengine.names:
        gridengine.run("qconf", "-aattr", "exechost", "complex_values", "gpu=4", host)
    yield made
    (tmp_path / "done").touch()
    made.backend.stop()
    for host in gridengine.names:
        gridengine.run("qconf", "-dattr", "exechost", "complex_values", "gpu=4", host)
    complexes.write_text(before)
    gridengine.run("qconf", "-Mc", str(complexes))


def test_jobs_of_a_new_profile_get_gpus(gridengine: GridEngineLab, site: Site) -> None:
    new = ("clusters", "new", "kumo", "--yes", "--scheduler", "gridengine", "--environment", "true",
           "--dialect", "pe=node", "--dialect", "slots_per_node=4")  # fmt: skip
    site.run(*new)
    path = site.folder / "templates" / "clusters" / "kumo.yaml"
    profile = json.loads(site.run("clusters", "show", "kumo", "--json"))
    assert profile["node"]["gpus"] == 4
    assert (profile["dialect"]["gpu_request"], profile["dialect"]["gpu_resource"]) == ("slot", "gpu")
    site.run("submit", "--cluster", "kumo", "--queue", "main.q", "--nodes", "2", "--walltime", "120s")
    (row,) = json.loads(site.run("status", "--json"))["runs"]
    assert until(lambda: gridengine.state(row["job_id"]) == "r", STRETCH * 120)
    free = [line.split("=")[1] for line in gridengine.run("qhost", "-F", "gpu").splitlines() if "hc:gpu=" in line]
    assert sorted(map(float, free)) == [0, 0, 4], "two hosts with all of their GPUs"
    # two of three hosts are busy: what is free is not what they have
    text = path.read_text()
    path.unlink()
    site.run(*new)
    assert path.read_text() == text
    path.write_text(text.replace("gpu_request: slot, gpu_resource: gpu", "gpu_request: none")
                    .replace("  dialect.gpu_request: asked\n  dialect.gpu_resource: asked\n", ""))  # fmt: skip
    value = json.loads(site.run("clusters", "check", "kumo", "--live", "--json", code=1))
    assert value["gpus_not_requested"] == 4 and "gpu_request: slot" in value["patch"]
