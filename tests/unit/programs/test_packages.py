"""What `check` says of packages that the job's Python environment lacks, and when it holds its tongue."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run

PROGRAM = """import os, distutils
import torch
import numpy as np, cv2
from sklearn.svm import SVC
from helpers import data
import layers.blocks
import strange_tool
try:
    import apex
except ImportError:
    apex = None
if os.environ.get("FAST"):
    import triton
def late():
    import pandas
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a virtual environment beside it that has torch and numpy."""
    project = tmp_path / "project"
    (project / "layers").mkdir(parents=True)
    (project / "layers" / "blocks.py").write_text("import einops\n")
    (project / "helpers.py").write_text("data = 1\n")
    (project / "train.py").write_text(PROGRAM)
    (project / "project.yaml").write_text("name: x\ncommand: python train.py\nlauncher: local\n")
    environment = tmp_path / "venv"
    packages = environment / "lib" / "python3.11" / "site-packages"
    for name in ("torch", "numpy"):
        (packages / name).mkdir(parents=True)
    (packages / "distutils-precedence.pth").write_text("import os; enabled = 1\n")
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    monkeypatch.setenv("PATH", f"{environment}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(project)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], cluster: str = "laptop") -> dict[str, list[tuple[int, str]]]:
    """Return file → (line, message) of the packages that are said to be missing."""
    capsys.readouterr()
    assert run(["check", "--cluster", cluster, "--processes", "1", "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {
        each["path"]: found
        for each in value["files"]
        if (found := [(f["line"], f["message"]) for f in each["findings"] if f["rule"] == "package-missing"])
    }


def test_what_is_imported_at_the_start_and_lies_nowhere(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys)
    assert {name: [line for line, _ in each] for name, each in found.items()} == {
        "train.py": [3, 4, 7], "layers/blocks.py": [1],
    }  # fmt: skip
    cv2, sklearn, strange = (text for _, text in found["train.py"])
    environment = place / "venv"
    assert str(environment) in cv2 and f"`{environment}/bin/python -m pip install opencv-python-headless`" in cv2
    assert "install scikit-learn`" in sklearn and "install …`" in strange  # nobody guesses whose package that is


@pytest.mark.parametrize("name", ["cv2", "sklearn.py", "strange_tool.cpython-311-x86_64-linux-gnu.so"])
def test_every_way_in_which_a_module_lies_there(place: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (place / "venv" / "lib" / "python3.11" / "site-packages" / name).touch()
    assert len(told(capsys)["train.py"]) == 2


def other_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = place / "more"
    for name in ("cv2", "sklearn", "strange_tool", "einops"):
        (more / name).mkdir(parents=True)
    (place / "venv" / "lib" / "python3.11" / "site-packages" / "more.pth").write_text(f"# ours\n{more}\n")


def editable(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import __editable___tool_finder; __editable___tool_finder.install()\n"
    (place / "venv" / "lib" / "python3.11" / "site-packages" / "__editable__.tool.pth").write_text(text)


def systems(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "venv" / "pyvenv.cfg").write_text("include-system-site-packages = true\n")


def no_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "venv" / "pyvenv.cfg").unlink()


def python_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/shared/packages")


def of_the_job(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (place / "project" / "project.yaml").open("a") as file:
        file.write("environment: [module load pytorch]\n")


def variable(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (place / "project" / "project.yaml").open("a") as file:
        file.write("variables: {PYTHONPATH: /shared/packages}\n")


def own_search(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "project" / "train.py").write_text("import sys\nsys.path.insert(0, '/shared')\n" + PROGRAM)


@pytest.mark.parametrize(
    "change", [other_place, editable, systems, no_environment, python_path, of_the_job, variable, own_search]
)
def test_silent_where_nobody_can_know(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    change(place, monkeypatch)
    assert told(capsys) == {}


def test_conda_sees_the_users_own_packages(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "venv" / "pyvenv.cfg").unlink()
    (place / "venv" / "conda-meta").mkdir()
    assert [line for line, _ in told(capsys)["train.py"]] == [3, 4, 7]
    (place / "home" / ".local" / "lib" / "python3.11" / "site-packages" / "cv2").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(place / "home"))
    assert [line for line, _ in told(capsys)["train.py"]] == [4, 7]


@pytest.mark.parametrize(("scheduler", "files"), [("slurm", 2), ("pbs", 0)])
def test_a_scheduler_that_hands_no_path_on(
    place: Path, capsys: pytest.CaptureFixture[str], scheduler: str, files: int
) -> None:
    profiles = place / "project" / "templates" / "clusters"
    profiles.mkdir(parents=True)
    profile = f"name: kumo\nscheduler: {scheduler}\nnode: {{cores: 4, gpus: 0}}\nwalltime: 00:10:00\n"
    (profiles / "kumo.yaml").write_text(profile)
    assert len(told(capsys, "kumo")) == files


def test_a_module_for_an_optional_package_is_not_asked_for_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """timm's reader of TensorFlow data sets is imported where somebody asks for one."""
    project = place / "project"
    (project / "train.py").write_text(
        "import torch\nfrom readers import factory\nfrom layers import blocks\ndef late():\n    import readers.tfds\n"
    )
    (project / "readers").mkdir()
    (project / "readers" / "__init__.py").write_text("")
    (project / "readers" / "factory.py").write_text(
        "import boto3\ndef create(name):\n    if name == 'tfds':\n        from readers.tfds import Reader\n"
        "        return Reader()\n"
    )
    (project / "readers" / "tfds.py").write_text("import tensorflow as tf\n")
    messages = told(capsys)
    assert set(messages) == {"readers/factory.py", "layers/blocks.py"}
    assert "pip install boto3" in messages["readers/factory.py"][0][1]
