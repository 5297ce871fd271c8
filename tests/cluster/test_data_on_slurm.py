"""Data that are staged lie on each node's own disk while a job runs there, and are gone after it."""

import hashlib
import json
from pathlib import Path

import pytest

from support.backends import Run, Site, SlurmBackend
from support.slurm_lab.lab import SlurmLab

pytestmark = pytest.mark.slurm
PROGRAM = """
import os, pathlib, sys
data = pathlib.Path(os.environ["HK_DATA"])
text = (data / "words" / "one.txt").read_text() + (data / "plain.txt").read_text()
print("READ", data, (data / "words").is_symlink(), (data / "plain.txt").is_symlink(), text.split())
"""


def _project(slurm: SlurmLab, folder: Path, scratch: Path) -> Site:
    import tarfile

    folder.mkdir()
    (folder / "plain.txt").write_text("plain")
    (folder / "one.txt").write_text("one ")
    with tarfile.open(folder / "words.tar", "w") as tar:
        tar.add(folder / "one.txt", "one.txt")
    wanted = [
        {"name": "words", "url": f"file://{folder}/words.tar", "unpack": "tar", "stage": True,
         "sha256": hashlib.sha256((folder / "words.tar").read_bytes()).hexdigest()},
        {"name": "plain.txt", "url": f"file://{folder}/plain.txt"},
    ]  # fmt: skip
    site = Site(SlurmBackend(slurm), folder / "project", walltime="600s")
    site.write_project("python read.py", data=wanted, nodes=2)
    site.write_profile(scratch=str(scratch))
    project = json.loads((site.folder / "project.yaml").read_text())
    del project["processes"]
    (site.folder / "project.yaml").write_text(json.dumps(project))
    (site.folder / "read.py").write_text(PROGRAM)
    return site


def _read(run: Run) -> list[list[str]]:
    lines = [path.read_text() for path in sorted((run.path / "logs").glob("rank-*.log"))]
    return [line.split(maxsplit=4) for text in lines for line in text.splitlines() if line.startswith("READ")]


@pytest.mark.slow
def test_staged_on_two_nodes_and_removed(slurm: SlurmLab, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    site = _project(slurm, tmp_path / "team", scratch)
    site.run("submit", code=2)
    site.run("data", "fetch")
    run = site.submit()
    site.await_state(run, "SUCCEEDED")
    found = _read(run)
    assert len(found) >= 2 and all(each[2:] == ["False", "True", "['one', 'plain']"] for each in found)
    places = {each[1] for each in found}
    assert all(place.startswith(f"{scratch}/") for place in places)
    assert len(places) == (2 if site.backend.node_names else 1)
    assert not list(scratch.glob("hackathon-data-*"))


@pytest.mark.slow
def test_no_room_falls_back_to_the_shared_folder(slurm: SlurmLab, tmp_path: Path) -> None:
    scratch = tmp_path / "no-folder"
    scratch.write_text("a file, where nothing can be made")
    site = _project(slurm, tmp_path / "team", scratch)
    site.run("data", "fetch")
    run = site.submit()
    site.await_state(run, "SUCCEEDED")
    found = _read(run)
    assert {each[1] for each in found} == {str(site.folder / "data")}
    assert "shared file system" in (run.path / "logs" / "rank-0.log").read_text()
