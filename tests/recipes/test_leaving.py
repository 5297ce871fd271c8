"""Recipes on PyTorch leave no thread of Gloo behind: one that is there while Python ends can abort a good run.

That abort is a race that shows once in some ten runs of a busy machine; the thread that it needs is there every time.
"""

import os
import subprocess
from pathlib import Path

import pytest

from support.installed import needs
from support.patience import STRETCH
from support.recipes import copy_recipe

needs("torch", "sklearn")
pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(200)]

# runs the program as its launcher would, then says which threads are still there
WRAPPER = """
import os, runpy, sys
program = sys.argv.pop(1)
sys.path.insert(0, os.getcwd())
def threads():
    return [open("/proc/self/task/%s/comm" % each).read().strip() for each in os.listdir("/proc/self/task")]
import torch.distributed as dist
begin = dist.init_process_group
def noted(*arguments, **options):
    begin(*arguments, **options)
    os.write(1, ("began with %s\\n" % threads()).encode())
dist.init_process_group = noted
runpy.run_path(program, run_name="__main__")
os.write(1, ("ended with %s\\n" % threads()).encode())
"""


@pytest.mark.parametrize(
    ("recipe", "program", "options"),
    [
        ("torch-ddp-tuned", "train.py", ["--epochs", "1", "--batch-size", "512", "--hook", "powersgd"]),
        ("allreduce", "bench.py", ["--backend", "gloo", "--max-size", "8KiB", "--iterations", "1"]),
        ("async-sgd", "train.py", ["--epochs", "1", "--batch-size", "64"]),
    ],
)
def test_no_thread_of_gloo_is_left(
    recipe: str, program: str, options: list[str], tmp_path: Path, warm_python: str
) -> None:
    source = copy_recipe(recipe, tmp_path / "source")
    (source / "wrapper.py").write_text(WRAPPER)
    for name in ("metrics", "events", "checkpoints"):
        (tmp_path / "run" / name).mkdir(parents=True)
    foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environ = {"HK_RUN": str(tmp_path / "run"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
               "PYTHON_EXEC": warm_python}  # fmt: skip
    launcher = [warm_python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launcher, "wrapper.py", program, *options],
        cwd=source, env=kept | environ, capture_output=True, text=True, timeout=STRETCH * 180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    began = [line for line in done.stdout.splitlines() if line.startswith("began with")]
    ended = [line for line in done.stdout.splitlines() if line.startswith("ended with")]
    assert len(began) == len(ended) == 2
    assert all("gloo" in line for line in began), "this test looks for threads by a name that they do not have any more"
    assert not [line for line in ended if "gloo" in line]
