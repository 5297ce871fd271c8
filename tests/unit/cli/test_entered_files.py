"""A newcomer can follow a command: it enters few files of the package (a person reads them one after another)."""

import subprocess
import sys
from pathlib import Path

import pytest

from hackathon.cli.main import run

COUNT = """
import sys
from hackathon.cli.main import main
entered = set()
def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and "/hackathon/" in code.co_filename:
        if "site-packages" not in code.co_filename.rsplit("/hackathon/", 1)[1]:
            entered.add(code.co_filename)
sys.setprofile(profile)
try:
    main()
except SystemExit as exit:
    status = exit.code
sys.setprofile(None)
print(*sorted(entered), sep="\\n", file=sys.stderr)
sys.exit(status)
"""
"""Runs a command and prints the files whose functions or classes it entered."""


def _entered(*words: str) -> list[str]:
    """Return the files that a command enters, after one that has filled the caches of checked files and templates."""
    subprocess.run([sys.executable, "-m", "hackathon", *words], capture_output=True, check=True)
    done = subprocess.run([sys.executable, "-c", COUNT, *words], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    "place",
    [
        ("--cluster", "slurm"),
        ("--cluster", "reedbush-h", "--queue", "h-debug", "--nodes", "2", "--group", "pz0425"),
    ],
)
def test_a_script_is_rendered_by_few_files(
    place: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = _entered("render", "torch-ddp", *place)
    assert 10 < len(files) <= 35, files


def test_a_failure_of_one_process_is_diagnosed_by_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('epoch 1 loss 2.3')\nraise RuntimeError('something of mine')\n")
    assert run(["init", "--command", "python train.py", "--cluster", "laptop"]) == 0
    assert run(["submit", "--processes", "1", "--launcher", "local", "--wait"]) == 1
    files = _entered("diagnose")
    assert 30 < len(files) <= 90, files
