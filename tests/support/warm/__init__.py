"""Pythons that have imported already what many short processes of the tests import: a framework, or this toolkit.

To import torch and its optimizers costs 3 s of processor time in each process, TensorFlow 5 s, several times what a
test's training costs; to import what `submit` needs costs several times what it does. `client.py` takes the place of
the interpreter: it hands its arguments, environment, folder and open streams to a server that has imported the modules
and forks. What runs is the same program in a process of its own.
"""

import fcntl
import functools
import hashlib
import os
import pkgutil
import secrets
import shlex
import subprocess
import sys
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
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or secrets.token_hex(8)
"""What the workers of one run of the tests have in common: they share the servers."""
_SERVERS: list["subprocess.Popen[bytes]"] = []
"""Kept, so that nobody waits for them."""


@pytest.fixture(scope="session")
def warm_python() -> str:
    """Return the path of an executable that runs a program as this Python does, with torch imported beforehand."""
    return with_torch()


@functools.cache
def with_torch(interpreter: str = sys.executable, packages: str = "") -> str:
    """As the fixture `warm_python`; by another interpreter with a PYTHONPATH, which other accounts can run."""
    environment = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **_with_path(packages)}
    return _with_torchrun(_serve(TORCH, environment, interpreter, laid=(JOBS_OWN, "profiler")))


def _with_path(packages: str) -> dict[str, str]:
    return {"PYTHONPATH": packages} if packages else {}


def _with_torchrun(python: str) -> str:
    """Put a `torchrun` beside a warm Python, whose ranks are warm as well, and return the Python."""
    return _with_launcher(python, "torchrun", "torch.distributed.run", f"export PYTHON_EXEC={python}\n")


def _with_launcher(python: str, name: str, module: str, first: str = "") -> str:
    launcher = Path(python).with_name(name)
    made = launcher.with_name(f"{name}-{secrets.token_hex(4)}")  # projects of one test may come here in threads
    made.write_text(f'#!/bin/sh\n{first}exec {python} -m {module} "$@"\n')
    made.chmod(0o755)
    made.replace(launcher)  # another worker may be running it
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
def with_toolkit(interpreter: str = sys.executable, packages: str = "") -> str:
    """Return an executable that runs `-m hackathon …` as this Python does, with the toolkit imported beforehand.

    Or as another interpreter does with a PYTHONPATH, which other accounts can run.
    Not the commands' own modules: those make their texts when they are imported, in the language of that process.
    """
    found = [each.name for each in pkgutil.walk_packages(hackathon.__path__, "hackathon.")]
    apart = ("hackathon.cli", "hackathon.runtime", "hackathon.parallel", "hackathon.__main__")
    return _serve(
        [*(name for name in found if not name.startswith(apart)), "held_rules"], _with_path(packages), interpreter
    )


def _serve(
    modules: tuple[str, ...] | list[str],
    environment: dict[str, str],
    interpreter: str = sys.executable,
    laid: tuple[str, ...] = (JOBS_OWN,),
) -> str:
    """Return the command of a server, which is started when no worker has done so.

    It ends with the process that started the workers, and takes its folder away.
    """
    key = repr((_RUN, interpreter, modules, environment, laid)).encode()
    folder = Path("/tmp", f"hk-warm-{hashlib.sha256(key).hexdigest()[:12]}")  # a short path: a unix socket lies in it
    command = folder / "python"
    folder.mkdir(mode=0o711, exist_ok=True)  # other accounts may use it as well
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not command.exists():
            _start(folder / "socket", modules, environment, interpreter)
            # isolated and without `site`: it has to start quickly
            client = [interpreter, "-I", "-S", str(HERE / "client.py")]
            line = shlex.join([*client, str(folder / "socket"), interpreter, ",".join(laid)])
            command.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
            command.chmod(0o755)
    return str(command)


def _start(address: Path, modules: tuple[str, ...] | list[str], environment: dict[str, str], interpreter: str) -> None:
    """Start a server, and return when it has imported the modules."""
    owner = os.pidfd_open(os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid())
    ready, told = os.pipe()
    _SERVERS.append(
        subprocess.Popen(
            [interpreter, str(HERE / "server.py"), str(address), str(told), str(owner), *modules],
            env=os.environ | environment, pass_fds=[told, owner], stdin=subprocess.DEVNULL, cwd="/",
        )
    )  # fmt: skip
    os.close(told)
    os.close(owner)
    try:
        assert os.read(ready, 1), "the server ended"
    finally:
        os.close(ready)
