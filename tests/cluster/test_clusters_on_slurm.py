"""`hackathon clusters new` and `check --live` on the real Slurm: what they write is what it enforces."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Site, SlurmBackend
from support.slurm_lab.lab import SlurmLab

pytestmark = pytest.mark.slurm


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    made = Site(SlurmBackend(slurm), tmp_path / "work")
    made.write_project("true", group="proj1")
    yield made
    made.backend.stop()


@pytest.mark.slow
def test_new_profile_agrees_with_its_machine_until_that_changes(slurm: SlurmLab, site: Site) -> None:
    folder = site.folder / "templates" / "clusters"
    site.run("clusters", "new", "kumo", "--yes", "--scheduler", "slurm", "--environment", "true")
    made = json.loads(site.run("clusters", "show", "kumo", "--json"))
    assert {name: (each["nodes"], each["walltime"]) for name, each in made["queues"].items()} == {
        "main": (4, 86400), "high": (4, 3600), "short": (4, 60),
    }  # fmt: skip
    assert (made["node"]["cores"], made["node"]["memory"], made["node"]["gpus"]) == (4, 4000 * 2**20, 2)
    agreed = json.loads(site.run("clusters", "check", "kumo", "--live", "--json"))
    assert agreed["patch"] == "" and agreed["closed_queues"] == []
    slurm.run("scontrol", "update", "PartitionName=short", "MaxNodes=2", "MaxTime=5", "State=DRAIN")
    try:
        differs = json.loads(site.run("clusters", "check", "kumo", "--live", "--json", code=1))
        changed = {each["key"]: each["machine"] for each in differs["values"] if each["verdict"] == "differs"}
        assert changed == {"queues.short.nodes": 2, "queues.short.walltime": "00:05:00"}
        assert differs["closed_queues"] == ["short"]
        new = site.folder / "kumo.yaml"
        site.run("clusters", "check", "kumo", "--live", "--output", str(new), code=1)
        (folder / "kumo.yaml").write_text(new.read_text())
        assert json.loads(site.run("clusters", "check", "kumo", "--live", "--json"))["patch"] == ""
    finally:
        slurm.run("scontrol", "update", "PartitionName=short", "MaxNodes=UNLIMITED", "MaxTime=1", "State=UP")


@pytest.mark.slow
def test_jobs_run_by_a_new_profile(site: Site) -> None:
    site.run("clusters", "new", "kumo", "--yes", "--scheduler", "slurm", "--environment", "true")
    site.run("submit", "--cluster", "kumo", "--queue", "main", "--nodes", "2", "--wait")
    assert json.loads(site.run("status", "--json"))["runs"][0]["state"] == "SUCCEEDED"


@pytest.mark.slow
def test_jobs_of_a_new_profile_get_gpus(slurm: SlurmLab, site: Site) -> None:
    site.run("clusters", "new", "kumo", "--yes", "--scheduler", "slurm", "--environment", "true")
    made = json.loads(site.run("clusters", "show", "kumo", "--json"))
    assert made["dialect"]["gpu_request"] == "gres"
    site.run("submit", "--cluster", "kumo", "--queue", "main", "--nodes", "2", "--wait")
    job = json.loads(site.run("status", "--json"))["runs"][0]["job_id"]
    assert "gres/gpu=4" in slurm.run("sacct", "-X", "-n", "-P", "-j", job, "--format=AllocTRES")
    path = site.folder / "templates" / "clusters" / "kumo.yaml"
    path.write_text(path.read_text().replace("gpu_request: gres", "gpu_request: none"))
    value = json.loads(site.run("clusters", "check", "kumo", "--live", "--json"))
    assert value["gpus_not_requested"] == 2, "the profile says that it is so, on the scheduler's word"
    path.write_text(path.read_text().replace("  dialect.gpu_request: asked\n", ""))
    value = json.loads(site.run("clusters", "check", "kumo", "--live", "--json", code=1))
    assert "gpu_request: gres" in value["patch"]
