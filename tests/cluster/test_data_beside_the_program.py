"""Data beside a program reach the nodes without being copied, and memory is asked for, on each back-end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Backend, LocalBackend, Site, SlurmBackend

READS = "import os\nprint('read', os.path.getsize('data/train.bin'), 'bytes as rank', os.environ['RANK'])\n"


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project on the back-end of this name, its two ranks on two nodes where there are nodes."""
    backend: Backend
    backend = SlurmBackend(request.getfixturevalue("slurm")) if request.param == "slurm" else LocalBackend(tmp_path)
    nodes, launcher = (2, "srun") if request.param == "slurm" else (1, "mpirun")
    made = Site(backend, tmp_path / "project", walltime="600s")
    made.write_project(
        "python train.py", launcher=launcher, nodes=nodes, processes=2, exclude=["data"], memory="500 MiB"
    )  # fmt: skip
    made.write_profile(processes_per_node=2 // nodes, launchers=["local", "mpirun", "srun"])
    yield made
    backend.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "site",
    [pytest.param("local", marks=pytest.mark.mpi), pytest.param("slurm", marks=pytest.mark.slurm)],
    indirect=True,
)
def test_ranks_read_what_was_not_copied(site: Site) -> None:
    (site.folder / "train.py").write_text(READS)
    (site.folder / "data").mkdir()
    with (site.folder / "data" / "train.bin").open("wb") as stream:
        stream.truncate(60_000_000)  # more than is ever copied
    run = site.submit()
    assert site.await_state(run, "SUCCEEDED", "FAILED")["state"] == "SUCCEEDED", run.log()
    for rank in (0, 1):
        assert f"read 60000000 bytes as rank {rank}" in run.log(f"rank-{rank}")
    source = run.path / "source"
    assert (source / "data").is_symlink() and (source / "train.py").is_file()
    assert json.loads((run.path / "source.json").read_text())["outside"] == {"data": str(site.folder / "data")}
    if isinstance(site.backend, SlurmBackend):
        assert "#SBATCH --mem=500M\n" in (run.path / "job.sh").read_text()
    site.run("clean", "--sources", "--yes")
    assert not source.exists()
    assert (site.folder / "data" / "train.bin").stat().st_size == 60_000_000
