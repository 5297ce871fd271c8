"""A folder in which the commands are called as a participant would, for tests on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT


class Place:
    """A folder in which commands are called as a participant would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
        command = [sys.executable, "-m", "hackathon", *words]
        return subprocess.run(command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def good(self, *words: str) -> str:
        done = self.call(*words)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run(self) -> Path:
        (found,) = sorted((self.folder / "runs").iterdir())
        return found

    def program(self, text: str) -> "Place":
        """Make a project around a program of one's own."""
        self.folder.joinpath("train.py").write_text(text)
        self.good("init", "--command", "python train.py")
        return self
