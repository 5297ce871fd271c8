"""Done when: four trials at once on a real Slurm, one job killed, the command line killed and resumed."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hackathon.schedulers.local import processes
from support.backends import Site, SlurmBackend, until
from support.paths import TESTS
from support.patience import STRETCH
from support.rank_process import command_line
from support.slurm_lab.lab import SlurmLab
from support.trouble import ask, start
from support.tuned_program import COMMAND, METRICS, PARAMETERS

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(400)]
ONE_GOOD_FIRST, FOUR_GOOD_FIRST = "0", "2"
"""Seeds of the grids in which the good settings come first."""
FREE = 10.0
"""Seconds in which the place of a stopped trial is taken."""


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    backend = SlurmBackend(slurm)
    made = Site(backend, tmp_path / "tuned")
    made.write_project(COMMAND, parameters=PARAMETERS, metrics=METRICS, queue="main", walltime="500s")
    (made.folder / "program.py").write_bytes((TESTS / "support" / "tuned_program.py").read_bytes())
    yield made
    backend.stop()


def fact(run: Path, name: str) -> dict[str, Any]:
    path = run / "client" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def runs_of(site: Site) -> list[Path]:
    """Return the runs whose program has started, in the order in which they were made."""
    return sorted(path for path in (site.folder / "runs").glob("[!.]*") if list(path.glob("started-*")))


@pytest.mark.slow
def test_one_job_and_the_command_are_killed_and_nothing_is_lost(site: Site, slurm: SlurmLab) -> None:
    # four good ones that take a while, then hopeless ones that would take longer
    words = ("--space", "lr=0.01,0.011,0.012,0.013,1e-9,1e-8", "--sampler", "grid", "--seed", FOUR_GOOD_FIRST)
    words = (*words, "--objective", "accuracy", "--yes")
    hold = site.folder / "hold"
    hold.touch()  # no trial ends by itself before one of them is killed
    first = start(site, "tune", *words, "--concurrent", "4", "-p", "epochs=100", "-p", "pause=0.08", "--json")
    until(lambda: len(runs_of(site)) == 4, "four trials run at once", 60)
    victim = next(run for run in runs_of(site) if fact(run, "submitted"))
    slurm.run("scancel", fact(victim, "submitted")["job_id"])  # somebody else does, not the tuner
    until(lambda: len(runs_of(site)) >= 5, "the next trial in its place", 60)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=STRETCH * 60)
    (study,) = (site.folder / "studies").iterdir()
    before = len(list((study / "trials").iterdir()))
    hold.unlink()
    resumed = ask(site, "tune", "--resume", study.name[-8:], "--json", seconds=200)
    assert resumed.code == 0, resumed
    found = resumed.json()
    by_run = {each["run"]: each for each in found["trials"]}
    assert before <= len(found["trials"]) == 6 and len(by_run) == 6
    assert by_run[victim.name]["state"] == "failed" and by_run[victim.name]["reason"]
    assert sum(each["state"] == "failed" for each in found["trials"]) == 1
    assert {each["state"] for each in found["trials"]} == {"failed", "finished", "stopped"}
    assert found["best"]["value"] > 0.96
    assert all(len(list(run.glob("started-*"))) == 1 for run in runs_of(site)), "no trial ran twice"
    names = {f"hk-{run[-8:]}" for run in by_run}
    assert all(len(site.backend.jobs_named(name)) == 1 for name in names)
    for run in by_run:
        _was_cancelled_soon(site.folder / "runs" / run)


def _was_cancelled_soon(run: Path) -> None:
    """A trial that was stopped is told to end within seconds of the decision."""
    why, cancelled = fact(run, "trial"), fact(run, "cancelled")
    if why:
        assert 0 <= cancelled["t"] - why["t"] < FREE * STRETCH


def programs_of(run: Path) -> list[int]:
    """Return the processes of a run's program, by numbers as they are outside of the nodes."""
    found = processes.with_variable(f"HK_RUN={run}", lambda pid: False)
    return [pid for pid in found if b"\0program.py\0" in command_line(pid)]


SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --gres=gpu:2 --time=60 --output=tune.log
exec python -m hackathon tune --space lr=log:1e-3:1e-1 --objective accuracy --sampler random --stopper none \\
  --trials 5 --inside-allocation -p epochs=40 -p pause=0.1 --yes --json >tune.json 2>tune.err
"""


@pytest.mark.slow
def test_inside_an_allocation_trials_are_steps(site: Site, slurm: SlurmLab, tmp_path: Path) -> None:
    site.more |= {"HACKATHON_LOCAL_DIR": str(tmp_path / "local"), "HACKATHON_LOCAL_SLOTS_DIR": str(tmp_path / "slots")}
    (site.folder / "tune.sh").write_text(SCRIPT)
    hold = site.folder / "hold"
    hold.touch()  # no trial ends by itself, or its place would be taken
    environment = {**site.backend.environment(), **site.more}
    told = subprocess.run(
        ["sbatch", "--parsable", "tune.sh"],
        cwd=site.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    job = told.stdout.strip()

    def given() -> dict[Path, dict[str, Any]]:
        return {path: json.loads(path.read_text()) for path in (site.folder / "runs").glob("*/started-*")}

    until(lambda: len(given()) == 4, "four trials, one a GPU, on two nodes", 60)
    first = given()
    places = [(each["SLURMD_NODENAME"], each["CUDA_VISIBLE_DEVICES"]) for each in first.values()]
    assert len({*places}) == 4 and len({node for node, _ in places} & {*slurm.names}) == 2, places
    assert len({each["SLURM_STEP_ID"] for each in first.values()}) == 4
    victim = next(iter(first))
    (program,) = programs_of(victim.parent)
    os.kill(program, signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: len(given()) == 5, "the next trial in the place of the killed one", 60)
    assert time.monotonic() - killed < FREE * STRETCH
    (last,) = (each for path, each in given().items() if path not in first)
    assert (last["SLURMD_NODENAME"], last["CUDA_VISIBLE_DEVICES"]) == places[0]
    hold.unlink()
    until(lambda: not slurm.run("squeue", "-h", "-j", job, check=False).strip(), "the end of the job", 60)
    said = (site.folder / "tune.err").read_text()
    assert f"a step of Slurm job {job} (2 nodes) with 1 core and 1 GPU" in said, said
    found = json.loads((site.folder / "tune.json").read_text())
    states = {each["run"]: each["state"] for each in found["trials"]}
    assert states.pop(victim.parent.name) == "failed" and list(states.values()) == ["finished"] * 4
    assert site.backend.jobs_named(f"hk-{victim.parent.name[-8:]}") == [], "no trial was a job of its own"


@pytest.mark.slow
def test_the_place_of_a_stopped_trial_is_taken_at_once(site: Site) -> None:
    words = ("--space", "lr=0.01,1e-9,1e-8,1e-7", "--sampler", "grid", "--seed", ONE_GOOD_FIRST)
    words = (*words, "--objective", "accuracy")
    begun = start(site, "tune", *words, "--yes", "--json", "--concurrent", "1", "-p", "epochs=60", "-p", "pause=0.05")
    said, err = begun.communicate(timeout=STRETCH * 240)
    assert begun.returncode == 0, err
    found = json.loads(said)
    assert [each["state"] for each in found["trials"]] == ["finished", "stopped", "stopped", "stopped"], found
    assert found["share_of_all"] < 1
    runs = [site.folder / "runs" / each["run"] for each in found["trials"]]
    for stopped, after in pairwise(runs[1:]):
        waited = fact(after, "submitted")["t"] - fact(stopped, "trial")["t"]
        assert 0 < waited < FREE * STRETCH
