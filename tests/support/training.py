"""A torch recipe that is trained as a job does it, without a job: a copy of its files and a run directory."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.patience import STRETCH
from support.ports import free_port
from support.recipes import copy_recipe

FOREIGN = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "CUDA_VISIBLE")
"""How variables begin that a training must not have from whoever runs the tests."""


class Training:
    """A copy of a recipe and a run directory as a job has them."""

    timeout = 200
    """Seconds that a training may take on a quiet machine."""

    def __init__(self, recipe: str, folder: Path, python: str) -> None:
        self.python = python
        self.run = folder / "run"
        self.source = folder / "source"
        for name in ("metrics", "events", "checkpoints"):
            (self.run / name).mkdir(parents=True)
        copy_recipe(recipe, self.source)
        self.stop = self.run / "stop"

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a rank, but for those of its launcher."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return kept | {
            "HK_RUN": str(self.run), "HK_STOP": str(self.stop), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHON_EXEC": self.python,  # what the launcher starts ranks with
        }  # fmt: skip

    def argv(self, processes: int, *options: str) -> list[str]:
        """Return the command line of a training in so many processes."""
        launcher = [self.python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        return [*(launcher if processes > 1 else [self.python]), "train.py", *options]

    def train(self, processes: int, *options: str) -> subprocess.CompletedProcess[str]:
        """Train, and return how it ended."""
        return self.call(self.argv(processes, *options))

    def mpirun(self, processes: int, *options: str) -> subprocess.CompletedProcess[str]:
        """Train in processes that mpirun starts, and return how it ended.

        They are told their port. The guess that stands in for it needs the same parent for all, which forks of a warm
        Python do not have; the test of the recipe allreduce makes that guess.
        """
        mpirun = shutil.which("mpirun", path=self.environ["PATH"])
        if mpirun is None:
            pytest.skip("no mpirun")
        words = ["env", f"MASTER_PORT={free_port()}", self.python, "train.py", *options]
        return self.call([mpirun, "-np", str(processes), *words])

    def call(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the recipe's folder, and return how it ended."""
        limit = STRETCH * self.timeout
        return subprocess.run(
            argv, cwd=self.source, env=self.environ, capture_output=True, text=True, timeout=limit, check=False
        )

    def metrics(self, rank: int = 0) -> list[dict[str, Any]]:
        """Return the lines that a rank wrote."""
        return [json.loads(line) for line in (self.run / f"metrics/rank-{rank}.jsonl").read_text().splitlines()]

    def final(self, rank: int = 0) -> dict[str, Any]:
        """Return the last one."""
        return self.metrics(rank)[-1]


def good(done: subprocess.CompletedProcess[str]) -> None:
    """See that a training ended well."""
    assert done.returncode == 0, done.stdout + done.stderr
