"""Ranks of an own TensorFlow program find the cluster in TF_CONFIG, on each back-end; others have none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site, SlurmBackend

PRINTS = "import os\nprint('TF_CONFIG', os.environ.get('TF_CONFIG'))\n"


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project on the back-end of this name, its two ranks on two nodes where there are nodes."""
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if request.param == "slurm" else LocalBackend(tmp_path)
    made = Site(backend, tmp_path / "project", walltime="600s")
    made.write_profile(processes_per_node=1 if request.param == "slurm" else 2, launchers=["local", "srun"])
    (made.folder / "train.py").write_text(PRINTS)
    yield made
    backend.stop()


def configurations(site: Site, framework: str) -> list[Any]:
    """Return TF_CONFIG of both ranks of a run, None where it is not set."""
    nodes, launcher = (2, "srun") if isinstance(site.backend, SlurmBackend) else (1, "local")
    site.write_project("python train.py", launcher=launcher, nodes=nodes, processes=2, framework=framework)
    run = site.submit()
    assert site.await_state(run, "SUCCEEDED", "FAILED")["state"] == "SUCCEEDED", run.log()
    lines = [run.log(f"rank-{rank}").partition("TF_CONFIG ")[2].partition("\n")[0] for rank in (0, 1)]
    return [None if line == "None" else json.loads(line) for line in lines]


@pytest.mark.parametrize(
    "site", ["local", pytest.param("slurm", marks=[pytest.mark.slurm, pytest.mark.slow])], indirect=True
)
def test_each_rank_is_a_worker_of_the_same_cluster(site: Site) -> None:
    first, second = configurations(site, "tensorflow")
    assert first["cluster"] == second["cluster"]
    workers = first["cluster"]["worker"]
    assert len(set(workers)) == 2
    assert [part["task"] for part in (first, second)] == [{"type": "worker", "index": rank} for rank in (0, 1)]
    hosts = [worker.rpartition(":")[0] for worker in workers]
    assert len(set(hosts)) == 2 if isinstance(site.backend, SlurmBackend) else hosts == ["127.0.0.1"] * 2


@pytest.mark.parametrize("site", ["local"], indirect=True)
def test_programs_of_other_frameworks_have_none(site: Site) -> None:
    assert configurations(site, "keras") == [None, None]
