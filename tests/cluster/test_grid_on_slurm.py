"""Done when: a grid of two parameters and two process counts on a real Slurm, the command line killed in the middle."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.runs.study import Study
from support.backends import Site, SlurmBackend, until
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab
from support.trouble import ask, runs_in, start, write_project

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]

PROGRAM = """
import argparse, os
options = argparse.ArgumentParser()
options.add_argument("--lr", type=float)
options.add_argument("--size", type=int)
chosen = options.parse_args()
world = int(os.environ["WORLD_SIZE"])
print(f"rate {chosen.size * (1 + chosen.lr) * (1 if world == 1 else 1.8):.6f}")
"""
GRID = ("--processes", "1,2", "--mode", "weak", "--vary", "lr=0.5,0.25", "--vary", "size=100,400")
SETTINGS = [(0.25, 100), (0.25, 400), (0.5, 100), (0.5, 400)]
POINTS = 8


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    backend = SlurmBackend(slurm)
    made = Site(backend, tmp_path / "grid")
    parameters = {"lr": {"default": 0.1, "type": "float"}, "size": {"default": 1, "type": "int"}}
    metrics = {"samples_per_s": {"pattern": "rate ([0-9.]+)", "unit": "samples/s", "reduce": "last"}}
    command = "python train.py --lr {lr} --size {size}"
    write_project(made.folder, command, walltime="120s", queue="high", parameters=parameters, metrics=metrics)
    (made.folder / "train.py").write_text(PROGRAM)
    yield made
    slurm.run("scontrol", "update", "partitionname=high", "state=up")
    backend.stop()


@pytest.mark.slow
def test_every_point_is_submitted_once_though_the_command_is_killed(site: Site, slurm: SlurmLab) -> None:
    dry = ask(site, "scale", *GRID, "--dry-run", "--json")
    assert len(dry.json()["points"]) == dry.json()["cost"]["jobs"] == POINTS
    assert runs_in(site.folder) == []

    slurm.run("scontrol", "update", "partitionname=high", "state=down")  # what is submitted waits
    waiting = start(site, "scale", *GRID, "--max-queued", "2", "--wait")
    try:
        until(lambda: len(_job_ids(site)) == 2, "two points are in the queue", 60)
    finally:
        waiting.send_signal(signal.SIGKILL)
        waiting.communicate(timeout=STRETCH * 30)
    assert waiting.returncode == -signal.SIGKILL
    (study,) = [Study(path) for path in (site.folder / "studies").iterdir()]
    assert len(study.points()) == POINTS

    # With a point reserved, with a run made, with a job in the queue that nobody wrote down, and after that. One at
    # a time: of a second point that is just being handed over nobody would know whether its job exists (UNCERTAIN).
    for step, most in (("after-reserved", 3), ("after-rename", 3), ("after-scheduler", 3), ("after-submitted", 4)):
        killed = start(site, "scale", "--resume", study.id, "--max-queued", str(most), HACKATHON_FAULT=step)
        _, said = killed.communicate(timeout=STRETCH * 120)
        assert (killed.returncode, b"Traceback" in said) == (-signal.SIGKILL, False), (step, said)

    slurm.run("scontrol", "update", "partitionname=high", "state=up")
    found: dict[str, Any] = json.loads(
        site.run("scale", "--resume", study.id, "--max-queued", "3", "--wait", "--json", seconds=240)
    )
    _every_point_has_one_job(site, slurm, study)
    _series_are_apart(found)
    assert json.loads(site.run("results", "--json", study.id)) == found
    before = len(runs_in(site.folder))
    again = ask(site, "scale", "--resume", study.id, "--json")
    assert (again.code, again.json()["left"], len(runs_in(site.folder))) == (0, 0, before)


def _job_ids(site: Site) -> list[str]:
    paths = (site.folder / "runs").glob("[!.]*/client/submitted.json")
    return [json.loads(path.read_text())["job_id"] for path in paths if os.access(path, os.R_OK)]


def _every_point_has_one_job(site: Site, slurm: SlurmLab, study: Study) -> None:
    """Slurm's own lists, over all states: one job for each point, with the run's name, and none besides."""
    runs = [study.run_id(point) for point in study.points()]
    assert None not in runs and len(set(runs)) == POINTS
    assert {path.name for path in runs_in(site.folder)} == set(runs)  # no run was left without its point
    names = {f"hk-{str(run)[-8:]}" for run in runs}
    jobs: dict[str, set[str]] = {}
    queue = slurm.run("squeue", "-h", "-a", "-t", "all", "-o", "%A|%j")
    past = slurm.run("sacct", "-X", "-D", "-n", "-P", "-S", "now-1hours", "-E", "now", "-o", "JobID,JobName")
    for line in (queue + past).splitlines():
        number, _, name = line.partition("|")
        if name in names:
            jobs.setdefault(name, set()).add(number)
    assert set(jobs) == names and [len(ids) for ids in jobs.values()] == [1] * POINTS, jobs
    states = ask(site, "status", study.id, "--json").json()["runs"]
    assert [state["state"] for state in states] == ["SUCCEEDED"] * POINTS


def _series_are_apart(found: dict[str, Any]) -> None:
    """Each combination is a curve of its own, whose speed-up is that of its own base."""
    assert "points" not in found
    assert [(each["settings"]["lr"], each["settings"]["size"]) for each in found["series"]] == SETTINGS
    for each, (rate, size) in zip(found["series"], SETTINGS, strict=True):
        assert each["base_processes"] == 1
        assert [point["processes"] for point in each["points"]] == [1, 2]
        # weak scaling without a declared learning rate changes nothing: the settings are what the program got
        assert [point["value"] for point in each["points"]] == pytest.approx(
            [size * (1 + rate), size * (1 + rate) * 1.8]
        )
        assert [point["speedup"] for point in each["points"]] == pytest.approx([1.0, 1.8])
        assert [len(point["runs"]) for point in each["points"]] == [1, 1]


def test_a_spent_budget_refuses_the_whole_grid(site: Site) -> None:
    event = {
        "title": "Lab", "clusters": {"lab": {"budget": {"node_hours": 0.2}}}, "when_spent": "refuse",
        "teams": [{"name": "alpha", "members": [{"user": _user()}]}],
    }  # fmt: skip
    (site.folder.parent / "hackathon.yaml").write_text(json.dumps(event))
    refused = ask(site, "scale", *GRID)
    assert refused.code == 2 and "node-hour" in refused.err, refused
    assert runs_in(site.folder) == [] and not (site.folder / "studies").exists()
    assert ask(site, "scale", "--processes", "1,2", "--dry-run").code == 0  # two points alone are within it


def _user() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
