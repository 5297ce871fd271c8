"""Programs that `hackathon port` changed really train, in each framework's own environment, with two processes."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hackathon.programs.port.libraries import Target
from hackathon.programs.port.port import port
from hackathon.programs.port.source import SingleGpuProgram
from support.paths import RUNTIME, SAMPLES
from support.ports import free_port
from support.stacks import BUILDING, stack, warm_path
from support.training import FOREIGN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(BUILDING)]
needs_torch = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch"),
]
needs_compiler = pytest.mark.skipif(
    not shutil.which("cmake") or not shutil.which("c++"), reason="no compiler and CMake"
)
BOTH = """import runpy, sys
import torch
names, sys.argv[1:] = sys.argv[1:], []
for name in names:
    print(name)
    torch.manual_seed(1)
    runpy.run_path(name, run_name="__main__")
"""
"""Runs programs one after the other in one Python: what they import costs ten times their training. They begin with
the same weights, which not all of them seed."""


WEIGHTS = {
    "lightning": "sum(float(each.abs().sum()) for each in net.parameters())",
    "accelerate": "sum(float(each.abs().sum()) for each in model.parameters())",
    "chainer": "sum(float(abs(each.array).sum()) for each in model.params())",
    "keras": "sum(float(abs(each).sum()) for each in model.get_weights())",
}
"""Programs whose model every process can tell of at the end: alike only where gradients were averaged."""


class Place:
    """A folder with a program and the one that is made of it."""

    def __init__(self, folder: Path, framework: str, name: str, target: Target = "horovod") -> None:
        self.folder = folder
        source = SAMPLES / "port" / framework / f"{name}.py"
        made = port(SingleGpuProgram(source.read_bytes(), "train.py"), target)
        assert made.sure
        (folder / "train.py").write_bytes(made.before)
        told = f'\nprint(f"weights {{{WEIGHTS[framework]}}}\\n", end="", flush=True)\n' if framework in WEIGHTS else ""
        (folder / "ported.py").write_bytes(made.after + told.encode())
        (folder / "both.py").write_text(BOTH)

    def run(self, path: Path | str, *argv: str, **more: str) -> str:
        """Return what a command of an environment prints, whose programs are in a folder."""
        # unbuffered, two processes write parts of lines between each other's
        foreign = (*FOREIGN, "TF_", "HOROVOD_", "PYTHONPATH", "PYTHONHOME", "PYTHONUNBUFFERED", "CONDA_PREFIX")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        environ = kept | {
            "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HOROVOD_GLOO_TIMEOUT_SECONDS": "300",
            "PATH": f"{path}:{os.environ['PATH']}",
        }  # fmt: skip
        done = subprocess.run(
            argv, cwd=self.folder, env=environ | more, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def together(self, path: str) -> str:
        """Return what two processes print; once more when Gloo, not the program, aborted one at the end of a good run.

        PyTorch issue 190489, as in `test_framework_output`. Each writes its own file: the launcher runs Python
        unbuffered, and on one stream they would write parts of lines between each other's.
        """
        logs = self.folder / "ranks"
        launcher = (f"{path}/torchrun", "--standalone", "--nproc-per-node", "2")
        words = (*launcher, "--redirects", "1", "--log-dir", str(logs), "ported.py")
        try:
            self.run(path, *words)
        except AssertionError as failure:
            if "terminate called without an active exception" not in str(failure):
                raise
            shutil.rmtree(logs)
            self.run(path, *words)
        return "".join(each.read_text() for each in sorted(logs.rglob("stdout.log")))

    def both(self, path: str) -> tuple[str, str]:
        """Return what the program and the ported one print alone."""
        said = self.run(path, f"{path}/python", "both.py", "train.py", "ported.py")
        one, other = re.split(r"^ported\.py$", said.split("train.py\n", 1)[1], flags=re.M)
        return one, other


def alike(said: str) -> bool:
    """Return whether both processes ended with the same weights."""
    one, other = (float(each) for each in re.findall(r"weights ([\d.e+]+)$", said, re.M))
    return abs(one - other) <= 1e-5 * one


def numbers(said: str) -> tuple[float, int]:
    """Return the last accuracy, and the steps of a training: each is printed once, by one process."""
    accuracies = re.findall(r"^(?:\S+: ?)?accuracy (\S+)$", said, re.M)
    steps = re.findall(r"^(?:\S+: ?)?steps (\d+)$", said, re.M)
    assert len(accuracies) == len(steps) == 1, said
    return float(accuracies[0]), int(steps[0])


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        pytest.param(framework, name, marks=needs_torch)
        for framework, name in (("lightning", "script"), ("trainer", "arguments"), ("accelerate", "script"))
    ],
)
def test_alone_the_same_numbers_and_together_the_same_accuracy(framework: str, name: str, tmp_path: Path) -> None:
    place, path = Place(tmp_path, framework, name), warm_path("own-code")
    original, alone = place.both(path)
    accuracy, steps = numbers(original)
    # one of 128 samples may fall otherwise: sums are rounded as the memory of a process happens to be aligned
    assert numbers(alone)[1] == steps and abs(numbers(alone)[0] - accuracy) <= 0.02
    together = place.together(path)
    assert numbers(together)[1] == steps // 2  # each has half of the data
    assert framework not in WEIGHTS or alike(together)
    assert accuracy > 0.9 and numbers(together)[0] >= accuracy - 0.02
    if framework != "lightning":  # the original program can read what was saved
        (model,) = tmp_path.glob("*.pt")
        assert b"module." not in model.read_bytes()


def test_a_chainer_program_trains_with_two_processes(tmp_path: Path) -> None:
    place, path = Place(tmp_path, "chainer", "script"), warm_path("chainermn-mnist")
    launcher = (f"{stack('chainermn-mnist')}/bin/mpirun", "-np", "2", "--oversubscribe", "--bind-to", "none")
    together = place.run(path, *launcher, f"{path}/python", "ported.py")
    accuracy, steps = numbers(together)
    assert alike(together)
    assert steps == 384 // 2 // 16 * 4  # half of the data for each, four epochs
    assert accuracy > 0.9


@needs_compiler
def test_a_keras_program_trains_with_horovod(tmp_path: Path) -> None:
    place, path, epochs = Place(tmp_path, "keras", "loop"), warm_path("horovod-keras"), 6
    launcher = (f"{path}/horovodrun", "--gloo", "--disable-cache", "-H", "localhost:2", "-np", "2")
    together = place.run(path, *launcher, f"{path}/python", "ported.py")
    accuracy, steps = numbers(together)
    assert alike(together)
    assert steps == 384 // 2 // 16 * epochs
    assert accuracy > 0.9


def test_a_keras_program_trains_with_workers(tmp_path: Path) -> None:
    place, path = Place(tmp_path, "keras", "script", "multiworker"), warm_path("tensorflow-multiworker")
    shutil.copyfile(RUNTIME, tmp_path / RUNTIME.name)
    mpirun = shutil.which("mpirun", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpirun is None:
        pytest.skip("no mpirun")
    launcher = (mpirun, "-np", "2", "--oversubscribe", "--bind-to", "none")
    # the port is else made of the number of mpirun, which is not the parent of what a warm Python runs
    port = {"MASTER_PORT": str(free_port())}
    legacy = {"TF_USE_LEGACY_KERAS": "1"}  # Keras 2, whose `fit` this strategy has
    together = place.run(path, *launcher, f"{path}/python", "ported.py", **legacy, **port)
    accuracy, steps = numbers(together)
    assert alike(together)
    assert steps == 384 // 32 * 16  # the batch of two processes, 16 epochs
    assert accuracy > 0.9
