"""Profiles of the event's folder are found by every command of a team's project; a shell begins in its project."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from hackathon.cli.main import run

PROFILE = "name: kumo\nscheduler: local\nnode: {cores: auto}\n"


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team's folder in an event that has a profile."""
    (tmp_path / "hackathon.yaml").write_text("title: Winter\n")
    (tmp_path / "templates" / "clusters").mkdir(parents=True)
    (tmp_path / "templates" / "clusters" / "kumo.yaml").write_text(PROFILE)
    folder = tmp_path / "aurora"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_init_adopt_and_doctor_know_the_events_clusters(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--command", "true", "--cluster", "kumo"]) == 0
    capsys.readouterr()
    assert run(["adopt", "77777", "--cluster", "kumo"]) == 2
    assert "no cluster" not in capsys.readouterr().err  # it is the job that nobody knows
    (team / "project.yaml").unlink()
    run(["doctor", "--cluster", "kumo"])
    assert "kumo" in capsys.readouterr().out


def test_shell_begins_in_the_project(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.render import render_shell
    from hackathon.jobs.request import Options
    from hackathon.jobs.sources import find_sources

    assert run(["init", "--command", "true", "--cluster", "kumo"]) == 0
    sources = find_sources(None, Options(), foreign="refuse")
    (request,) = plan_jobs(sources, place=False, script=False).requests
    text, _ = render_shell(request, sources.cluster, sources.template_folders)
    script = team / "runs" / "shell.sh"
    script.parent.mkdir()
    script.write_text(text)
    command = f'. "{script}" >/dev/null 2>&1; pwd -P; echo "$HK_PROJECT"'
    said = subprocess.run(["bash", "-c", command], cwd="/", capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[:2] == [str(team.resolve())] * 2


def test_resumed_study_names_runs_that_are_unclear_and_points_that_are_held(
    team: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (team.parent / "templates" / "clusters" / "kumo.yaml").write_text(
        "name: kumo\nscheduler: slurm\nnode: {cores: 4}\nstarter: srun\n"
    )
    commands = {
        "sbatch": "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1",
        "squeue": "",
        "sacct": "",
    }
    for name, text in commands.items():
        path = team.parent / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{team.parent / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert run(["init", "--command", "true", "--cluster", "kumo"]) == 0
    assert run(["scale", "--processes", "1,2"]) == 3
    run(["scale", "--resume"])  # the first failure may come before the second job is tried: that is done now
    unclear = {path.name[-8:] for path in (team / "runs").iterdir() if (path / "client" / "submitting.json").exists()}
    capsys.readouterr()
    run(["scale", "--resume"])
    said = capsys.readouterr().err
    assert unclear and all(f"hackathon submit --again {name}" in said for name in unclear)
    study = next((team / "studies").iterdir())
    who = json.dumps({"host": os.uname().nodename, "pid": os.getppid()})
    (study / "points" / "2-1").write_text(f"another-run\n{who}\n")
    run(["scale", "--resume"])
    said = capsys.readouterr().err
    assert "another process is submitting 1 job of this study" in said and study.name[-8:] in said
