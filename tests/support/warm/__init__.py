"""Pythons that have imported already what many short processes of the tests import: a framework, or this toolkit.

To import torch and its optimizers costs 3 s of processor time in each process, TensorFlow 5 s, several times what a
test's training costs; to import what `submit` needs costs several times what it does. `client.py` takes the place of
the interpreter: it hands its arguments, environment, folder and open streams to a server that has imported the modules
and forks. What runs is the same program in a process of its own.
"""

import functools
import os
import pkgutil
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import hackathon

HERE = Path(__file__).parent
TORCH = (
    "torch",
    "torch._dynamo",
    "torch.distributed.run",
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint.state_dict",
    "torch.export._trace",
    "sklearn.datasets",
)
JOBS_OWN = "hackathon-python"
"""The folder with the `sitecustomize` of every job; `profiler` is that of `hackathon profile`."""
_SERVERS: list["subprocess.Popen[bytes]"] = []
"""Each ends when its standard input does: with this process, however it ends."""


@pytest.fixture(scope="session")
def warm_python() -> str:
    """Return the path of an executable that runs a program as this Python does, with torch imported beforehand."""
    return with_torch()


@functools.cache
def with_torch() -> str:
    """As the fixture `warm_python`."""
    environment = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return _with_torchrun(_serve(TORCH, environment, laid=(JOBS_OWN, "profiler")))


def _with_torchrun(python: str) -> str:
    """Put a `torchrun` beside a warm Python, whose ranks are warm as well, and return the Python."""
    return _with_launcher(python, "torchrun", "torch.distributed.run", f"export PYTHON_EXEC={python}\n")


def _with_launcher(python: str, name: str, module: str, first: str = "") -> str:
    launcher = Path(python).with_name(name)
    launcher.write_text(f'#!/bin/sh\n{first}exec {python} -m {module} "$@"\n')
    launcher.chmod(0o755)
    return python


@functools.cache
def of_stack(folder: Path, *modules: str) -> str:
    """Return an executable that runs a program as the Python of an environment does, with modules imported beforehand.

    TensorFlow starts no thread before the first operation, so what has imported it may fork. What programs tell it
    before they import it has to be told to the server: that they want Keras 2, where it is a package of its own.
    """
    told = {"TF_CPP_MIN_LOG_LEVEL": "2", **({"TF_USE_LEGACY_KERAS": "1"} if "tf_keras" in modules else {})}
    python = _serve(modules, {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **told}, str(folder / "bin/python"))
    if "horovod.runner.launch" in modules:  # it imports the framework only to ask what Horovod was built with
        return _with_launcher(python, "horovodrun", "horovod.runner.launch")
    return _with_torchrun(python) if "torch.distributed.run" in modules else python


@functools.cache
def with_toolkit() -> str:
    """Return an executable that runs `-m hackathon …` as this Python does, with the toolkit imported beforehand.

    Not the commands' own modules: those make their texts when they are imported, in the language of that process.
    """
    found = [each.name for each in pkgutil.walk_packages(hackathon.__path__, "hackathon.")]
    apart = ("hackathon.cli", "hackathon.runtime", "hackathon.parallel", "hackathon.__main__")
    return _serve([*(name for name in found if not name.startswith(apart)), "held_rules"], {})


def _serve(
    modules: tuple[str, ...] | list[str],
    environment: dict[str, str],
    interpreter: str = sys.executable,
    laid: tuple[str, ...] = (JOBS_OWN,),
) -> str:
    """Start a server, which ends with this process and takes its folder away, and return its command."""
    folder = Path(tempfile.mkdtemp(prefix="hk-warm-", dir="/tmp"))  # a short path: a unix socket lies in it
    command = folder / "python"
    # isolated and without `site`: it has to start quickly
    client = [sys.executable, "-I", "-S", str(HERE / "client.py"), str(folder / "socket"), interpreter, ",".join(laid)]
    command.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n')
    command.chmod(0o755)
    ready, told = os.pipe()
    command_line = [interpreter, str(HERE / "server.py"), str(folder / "socket"), str(told), *modules]
    _SERVERS.append(
        subprocess.Popen(command_line, env=os.environ | environment, pass_fds=[told], stdin=subprocess.PIPE, cwd="/")
    )
    os.close(told)
    try:
        assert os.read(ready, 1), "the server ended"
    finally:
        os.close(ready)
    return str(command)
