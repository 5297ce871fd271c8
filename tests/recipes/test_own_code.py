"""A team's own program, unchanged: it runs, and its numbers are found in what it prints."""

import os
import re
import shlex
import statistics
import subprocess
from typing import Any

import pytest
import yaml

from support.paths import ROOT
from support.patience import STRETCH

PROJECTS = ROOT / "team_projects"
PROJECT = PROJECTS / "own-code"


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((PROJECTS / name / "project.yaml").read_text())
    return read


@pytest.mark.parametrize("name", ["digits", "own-code"])
def test_project_is_valid(name: str) -> None:
    from hackathon.config.load import load_project

    project = load_project(PROJECTS / name)
    assert project.name == name and project.cluster == "laptop"
    assert (project.recipe is None) != (project.command is None)


def test_program_knows_nothing_of_the_toolkit() -> None:
    text = (PROJECT / "train_digits.py").read_text()
    assert "hackathon" not in text.lower() and "HK_" not in text


@pytest.mark.torch
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.slow
def test_trains_and_its_numbers_are_found(processes: int, warm_python: str) -> None:
    """Two processes train as long as the project says; one shows within some epochs that it runs alone."""
    pytest.importorskip("sklearn")
    project = _read("own-code")
    values = {name: parameter["default"] for name, parameter in project["parameters"].items()}
    if processes == 1:
        values["epochs"] = 5
    words = [word.format(**values) for word in shlex.split(project["command"])]
    assert words[0] == "python"
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    clean = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    done = subprocess.run(
        [warm_python, *launcher, *words[1:]],
        cwd=PROJECT, env=clean | {"OMP_NUM_THREADS": "1", "PYTHON_EXEC": warm_python}, capture_output=True, text=True,
        timeout=STRETCH * 200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {
        name: [float(text) for text in re.findall(metric["pattern"], done.stdout)]
        for name, metric in project["metrics"].items()
    }
    assert len(found["samples_per_s"]) == len(found["accuracy"]) == values["epochs"]
    assert statistics.median(found["samples_per_s"][project["metrics"]["samples_per_s"]["skip_first"] :]) > 10
    assert found["accuracy"][-1] >= (project["check"]["at_least"] if processes > 1 else 60)
    assert found["loss"]
