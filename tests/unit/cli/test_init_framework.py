"""What a program is started with where nobody says so: the framework that `init` sees, and what this machine has."""

from pathlib import Path

import pytest

from hackathon.cli.main import run
from hackathon.schedulers import runner

TORCH = "import torch\nimport torch.distributed as dist\ndist.init_process_group()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which jobs of this machine find commands."""
    commands = tmp_path_factory.mktemp("bin")
    monkeypatch.setattr(runner, "child_environment", lambda **_: {"PATH": str(commands)})
    return commands


def install(commands: Path, *names: str) -> None:
    for name in names:
        (commands / name).write_text("#!/bin/sh\n")
        (commands / name).chmod(0o755)


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        (TORCH, "framework: torch\n"),
        ("from model import Net\n", "framework: torch\n"),
        ("import torch\nimport horovod.torch as hvd\nhvd.init()\n", ""),
        ("from mpi4py import MPI\nimport torch\n", ""),
        ("import tensorflow as tf\n", ""),
        ("import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy()\n", "framework: tensorflow\n"),
        ("import horovod.keras\nimport tensorflow as tf  # not MultiWorkerMirroredStrategy\n", ""),
        ("print('hello')\n", ""),
    ],
)
def test_init_writes_the_framework_that_a_program_trains_with(folder: Path, text: str, framework: str) -> None:
    (folder / "train.py").write_text(text)
    (folder / "model.py").write_text("import torch\nclass Net(torch.nn.Linear):\n    pass\n")
    assert run(["init", "--command", "python train.py"]) == 0
    written = (folder / "project.yaml").read_text()
    assert (framework in written) if framework else ("framework:" not in written)


def test_a_torch_program_runs_under_torchrun_without_a_word(
    folder: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(installed, "torchrun", "mpirun")
    (folder / "train.py").write_text(TORCH)
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert run(["render", "--processes", "2"]) == 0
    assert "HK_LAUNCHER=torchrun" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("commands", "lines", "launcher"),
    [
        (("torchrun", "mpirun"), "", "mpirun"),
        (("torchrun",), "", "local"),
        ((), "", "local"),
        ((), "environment: ['module load openmpi']\n", "mpirun"),
    ],
)
def test_a_launcher_that_this_machine_lacks_is_not_chosen(
    folder: Path,
    installed: Path,
    capsys: pytest.CaptureFixture[str],
    commands: tuple[str, ...],
    lines: str,
    launcher: str,
) -> None:
    install(installed, *commands)
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "project.yaml").write_text(f"name: mine\ncommand: python train.py\ncluster: laptop\n{lines}")
    assert run(["render", "--processes", "2"]) == 0
    assert f"HK_LAUNCHER={launcher} " in capsys.readouterr().out


def test_a_launcher_that_was_asked_for_and_is_missing_is_refused(
    folder: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "project.yaml").write_text("name: mine\ncommand: python train.py\ncluster: laptop\nlauncher: mpirun\n")
    assert run(["render", "--processes", "2"]) == 2
    assert "launcher mpirun is not installed on this machine" in capsys.readouterr().err
    install(installed, "mpirun")
    assert run(["render", "--processes", "2"]) == 0


def test_a_framework_is_one_of_those_that_are_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "project.yaml").write_text("name: mine\ncommand: python train.py\nframework: pytorch\n")
    assert run(["check"]) == 2
    said = capsys.readouterr().err
    assert "framework" in said and "did you mean `torch`?" in said
