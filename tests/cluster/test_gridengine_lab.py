"""The project's own Grid Engine works like one, and leaves nothing behind."""

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.jobs.script import shell_word
from support.gridengine_lab.lab import GridEngineLab, missing
from support.patience import STRETCH
from support.virtual_nodes.network import LabError
from support.virtual_nodes.processes import until

pytestmark = [pytest.mark.gridengine, pytest.mark.slow]


@pytest.fixture
def folder() -> Iterator[Path]:
    if reason := missing():
        pytest.skip(f"no real Grid Engine: {reason}")
    with tempfile.TemporaryDirectory(prefix="hk-gridengine-", dir="/tmp") as name:
        yield Path(name)
        GridEngineLab(name).stop()


def submit(lab: GridEngineLab, folder: Path, text: str, *words: str) -> str:
    """Return the id of a job that runs a script's lines."""
    (folder / "job.sh").write_text(f"#!/bin/bash\n{text}\n")
    return lab.run("qsub", "-terse", "-cwd", "-j", "y", "-o", "out", *words, "job.sh", folder=folder).strip()


def test_three_hosts_take_jobs_of_two_queues(gridengine: GridEngineLab) -> None:
    rows = [line.split()[:3] for line in gridengine.run("qstat", "-f").splitlines() if "@" in line]
    expected = [[f"{queue}@{name}", "BIP", "0/0/4"] for queue in ("main.q", "short.q") for name in gridengine.names]
    assert rows == expected


def test_resource_type_becomes_whole_nodes(gridengine: GridEngineLab, tmp_path: Path) -> None:
    job = submit(gridengine, tmp_path, 'cat "$PE_HOSTFILE"; hostname', "-l", "node_f=2,h_rt=300", "-sync", "y")
    assert job.splitlines()[-1].isdigit()
    *hosts, first = (tmp_path / "out").read_text().splitlines()
    names = [line.split()[0] for line in hosts]
    assert [line.split()[1] for line in hosts] == ["4", "4"] and names[0] == first and len(set(names)) == 2


def test_verifier_speaks_as_at_tsubame(gridengine: GridEngineLab, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#$ -l node_f=1\n")
    done = subprocess.run(
        [gridengine.commands / "qsub", "job.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1, "Unable to run job: Job is rejected. h_rt must be specified."
    )  # fmt: skip


def test_no_value_of_a_script_becomes_an_option(gridengine: GridEngineLab, tmp_path: Path) -> None:
    """`qsub -verify` reads the whole script, texts in quotation marks too."""
    value = "a\n#$ -q short.q\n#$ -l h_rt=99:00:00\nb"

    def verified(word: str) -> str:
        (tmp_path / "job.sh").write_text(f"#!/bin/bash\n#$ -l h_rt=60\nx={word}\n")
        shown = gridengine.run("qsub", "-verify", "job.sh", folder=tmp_path)
        return "\n".join(line for line in shown.splitlines() if line.startswith("hard"))

    assert "short.q" in verified(shlex.quote(value)), "with quotes alone they do"
    assert "short.q" not in verified(shell_word(value)) and "h_rt=60" in verified(shell_word(value))


def test_two_labs_beside_each_other_and_nothing_left(gridengine: GridEngineLab, folder: Path) -> None:
    with GridEngineLab(folder, hosts=1) as lab:
        job = submit(lab, folder, "touch begun; setsid sleep 3000")
        assert until((folder / "begun").exists, STRETCH * 120)
        assert until(lambda: lab.state(job) == "r", STRETCH * 120) and gridengine.state(job) == ""
        ours = f"SGE_ROOT={lab.layout.root}".encode()
        assert _carrying(ours)
    assert until(lambda: not _carrying(ours), STRETCH * 60)
    left = subprocess.run(["ip", "-o", "addr"], capture_output=True, text=True, check=True).stdout
    assert f" {lab.layout.subnet}." not in left
    assert gridengine.run("qconf", "-ss").split()  # the other one goes on


def test_failed_start_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = GridEngineLab(folder)
    monkeypatch.setattr(lab, "_write_cell", lambda: None)  # a master without a cell ends at once
    with pytest.raises(LabError, match="qmaster"):
        lab.start()
    assert not _carrying(f"SGE_ROOT={lab.layout.root}".encode())
    assert not lab.directory.joinpath("lab.json").exists()


def _carrying(word: bytes) -> list[str]:
    """Return the processes with a word in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if word in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            continue
    return found
