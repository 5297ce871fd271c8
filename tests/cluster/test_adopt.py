"""`hackathon adopt` of jobs submitted by hand on the real Slurm and Grid Engine: what ran is what is recorded."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import LONG, Site, SlurmBackend, until
from support.gridengine_lab.backend import GridEngineBackend
from support.gridengine_lab.lab import GridEngineLab
from support.slurm_lab.lab import SlurmLab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class _ByName(GridEngineBackend):
    """Grid Engine as most sites use it: queues have names, and a slot is a process."""

    extra = {"dialect": {"pe": "node", "slots_per_node": 4}}


@pytest.fixture
def slurm_site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    site = Site(SlurmBackend(slurm), tmp_path / "work")
    site.write_project("true", group="proj1")
    yield site
    site.backend.stop()


@pytest.fixture
def grid_engine_site(gridengine: GridEngineLab, tmp_path: Path) -> Iterator[Site]:
    site = Site(_ByName(gridengine), tmp_path / "work")
    site.write_project("true")
    yield site
    site.backend.stop()


def submitted(site: Site, command: str, header: str, body: str) -> tuple[str, Path]:
    """Return the id and the folder of a job that a person submits."""
    folder = site.folder / "by-hand"
    folder.mkdir(exist_ok=True)
    (folder / "train.sh").write_text(f"#!/bin/bash\n{header}\n{body}\n")
    answer = subprocess.run(
        [*command.split(), "train.sh"], cwd=folder, env=site.backend.environment(), capture_output=True, text=True,
        timeout=LONG, check=True,
    )  # fmt: skip
    match = re.search(r"\d+", answer.stdout)
    assert match is not None
    return match[0], folder


def adopted(site: Site, job: str, **more: str) -> tuple[Path, dict[str, Any]]:
    """Return the run of an adopted job, and its request; `more`: environment variables of the command."""
    run = site.folder / "runs" / site.run("adopt", job, **more).decode().split()[2]
    return run, json.loads((run / "request.json").read_text())


@pytest.mark.slurm
@pytest.mark.parametrize("forgotten", [False, True])
def test_ended_job_of_slurm_has_the_processes_that_ran(slurm: SlurmLab, slurm_site: Site, forgotten: bool) -> None:
    header = "\n".join(f"#SBATCH {option}" for option in (
        "-N 2 --ntasks-per-node=2", "--gres=gpu:1", "--mem=100M", "-t 3", "-A proj1", "-o train-%j.txt",
    ))  # fmt: skip
    job, folder = submitted(slurm_site, "sbatch --wait --parsable", header, "srun bash -c 'echo rank $SLURM_PROCID'")
    ranks = sorted((folder / f"train-{job}.txt").read_text().split("\n"))[1:]
    assert ranks == ["rank 0", "rank 1", "rank 2", "rank 3"]
    path = slurm_site.backend.environment()["PATH"]
    if forgotten:  # as some minutes after its end; accounting learns the time limit a little later than the rest
        until(lambda: slurm.run("sacct", "-nXP", "-j", job, "-o", "TimelimitRaw").strip() == "3", "the whole record")
        scontrol = slurm_site.folder.parent / "bin" / "scontrol"
        scontrol.parent.mkdir()
        scontrol.write_text("#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n")
        scontrol.chmod(0o755)
        path = f"{scontrol.parent}:{path}"
    run, request = adopted(slurm_site, job, PATH=path)
    assert (request["nodes"], request["processes"], request["processes_per_node"]) == (2, 4, 2)
    assert (request["gpus_per_node"], request["walltime"]) == (1, 180)
    # this Slurm does not manage memory: only scontrol tells what was asked for
    assert request["memory"] == (None if forgotten else 100 * 2**20)
    assert (request["queue"], request["group"]) == ("main", "proj1")
    assert slurm_site.states()[0]["state"] == "SUCCEEDED"
    if not forgotten:
        assert "rank 3" in (run / "logs" / "job.log").read_text()
        assert "rank 3" in slurm_site.run("logs", run.name).decode()


@pytest.mark.slurm
def test_running_job_of_slurm(slurm_site: Site) -> None:
    header = "#SBATCH -N 2 -n 3 -t 3 -A proj1"
    job, folder = submitted(
        slurm_site, "sbatch --parsable", header, "srun true; until [ -e release ]; do sleep 0.1; done"
    )
    run, request = adopted(slurm_site, job)  # it may still wait
    assert (request["nodes"], request["processes"], request["processes_per_node"]) == (2, 3, 0)
    assert request["walltime"] == 180
    until(lambda: slurm_site.states()[0]["state"] == "RUNNING", "the job's begin")
    (folder / "release").touch()
    until(lambda: slurm_site.states()[0]["state"] == "SUCCEEDED", "the job's end")
    assert (run / "logs" / "job.log").read_text() == ""


@pytest.mark.gridengine
def test_job_of_grid_engine_while_it_runs_and_after_its_end(grid_engine_site: Site) -> None:
    header = "#$ -S /bin/bash\n#$ -cwd\n#$ -pe mpi 6\n#$ -l h_rt=120\n#$ -o train-$JOB_ID.txt\n#$ -j y"
    body = (
        'while read -r host slots _; do for _ in $(seq "$slots"); do echo "rank on $host"; done; done <"$PE_HOSTFILE"\n'
    )
    job, folder = submitted(grid_engine_site, "qsub -terse", header, f"{body}until [ -e release ]; do sleep 0.1; done")
    log = folder / f"train-{job}.txt"
    until(lambda: log.exists() and log.read_text().count("rank on") == 6, "the job's ranks")
    hosts = len(set(re.findall("rank on (.*)", log.read_text())))
    run, request = adopted(grid_engine_site, job)
    assert (request["processes"], request["nodes"], request["walltime"]) == (6, hosts, 120)
    assert (run / "logs" / "job.log").read_text() == log.read_text()
    (folder / "release").touch()
    until(lambda: grid_engine_site.states()[0]["state"] == "SUCCEEDED", "the job's end")
    again = Site(grid_engine_site.backend, grid_engine_site.folder.parent / "again")
    again.write_project("true")
    _, ended = adopted(again, job)
    assert (ended["processes"], ended["walltime"]) == (6, 120)
