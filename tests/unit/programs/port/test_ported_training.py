"""Ported programs train: alone with the numbers of the original, as two processes with its accuracy."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from hackathon.programs.port.port import port
from hackathon.programs.port.source import SingleGpuProgram
from support.paths import SAMPLES
from support.patience import STRETCH
from support.training import FOREIGN

PROGRAMS = sorted((SAMPLES / "port" / "programs").glob("*.py"))
NOTEBOOK = "import builtins, unittest.mock\nbuiltins.get_ipython = unittest.mock.MagicMock\n"
"""What a notebook's program finds where it runs."""
WHOLE = {"stream", "notebook"}
"""Programs of which something is asked that doubles the steps, or the lines, until it is answered."""

pytestmark = [pytest.mark.torch, pytest.mark.slow]


ARGUMENTS = {"resume": (["2"], ["4"])}
"""What each start of a program is given: the second one goes on where the first one ended."""


def train(command: list[str], folder: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environ = kept | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=STRETCH * 120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def accuracy(said: str) -> float:
    return float(re.findall(r"^accuracy (\S+)$", said, re.M)[-1])


def steps(said: str) -> int:
    return int(re.findall(r"^steps (\d+)$", said, re.M)[0])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda each: each.stem)
def test_alone_the_same_numbers_and_together_the_same_accuracy(path: Path, tmp_path: Path, warm_python: str) -> None:
    folders = [tmp_path / name for name in ("original", "alone", "together")]
    made = port(SingleGpuProgram(path.read_bytes(), path.name))
    text = made.after.decode()
    for folder in folders:
        folder.mkdir()
        before = NOTEBOOK if "get_ipython" in text and "import annotations" not in text else ""
        (folder / "train.py").write_text(before + (path.read_text() if folder.name == "original" else text))
    launcher = [str(Path(warm_python).with_name("torchrun")), "--standalone", "--nproc-per-node", "2"]
    for words in ARGUMENTS.get(path.stem, ([],)):
        original = train([warm_python, "train.py", *words], folders[0])
        assert train([warm_python, "train.py", *words], folders[1]) == original
        together = train([*launcher, "train.py", *words], folders[2])
    assert abs(accuracy(together) - accuracy(original)) <= 0.01
    if path.stem not in WHOLE:
        assert together.count("accuracy") == original.count("accuracy")  # one process prints
        assert steps(together) == steps(original) // 2  # each has half of the data
    saved = sorted(each.name for each in folders[0].glob("*.pt"))
    assert sorted(each.name for each in folders[2].glob("*.pt")) == saved
    for name in saved:
        assert b"module." not in (folders[2] / name).read_bytes()  # the original program can read it
