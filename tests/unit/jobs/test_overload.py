"""On the local back end a job may share cores, but not bring the machine to a standstill."""

import json
from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.jobs import check


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project.yaml").write_text(
        "name: own\ncommand: python train.py\ncluster: laptop\nthreads: 1\nlauncher: local\n"
    )
    (tmp_path / "train.py").write_text("print('500 samples/s')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check, "cores_here", lambda: 8)
    return tmp_path


@pytest.mark.parametrize("processes", [1, 9, 128])
def test_shared_cores_are_allowed(project: Path, capsys: pytest.CaptureFixture[str], processes: int) -> None:
    run(["check", "--json", "--processes", str(processes)])
    assert json.loads(capsys.readouterr().out)["violations"] == []


@pytest.mark.parametrize("processes", [129, 4000])
def test_a_standstill_is_refused(project: Path, capsys: pytest.CaptureFixture[str], processes: int) -> None:
    assert run(["submit", "--processes", str(processes)]) == 2
    assert f"{processes} processes on this machine with 8 cores: at most 128 are allowed" in capsys.readouterr().err
    assert not (project / "runs").exists()
