"""A Python that has imported torch already, for tests that start many short trainings.

To import torch and its optimizers costs 3 s of processor time in each process, several times what a test's training
costs. `client.py` takes the place of the interpreter: it hands its arguments, environment, folder and
open streams to a server that has imported the modules and forks. What runs is the same program in a process of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULES = (
    "torch",
    "torch._dynamo",
    "torch.distributed.run",
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint.state_dict",
    "sklearn.datasets",
)


@pytest.fixture(scope="session")
def warm_python() -> Iterator[str]:
    """Return the path of an executable that runs a program as this Python does, with torch imported beforehand."""
    folder = Path(tempfile.mkdtemp(prefix="hk-warm-", dir="/tmp"))  # a short path: a unix socket lies in it
    command = folder / "python"
    # isolated and without `site`: it has to start quickly
    client = f"{sys.executable} -I -S {HERE / 'client.py'} {folder / 'socket'} {sys.executable}"
    command.write_text(f'#!/bin/sh\nexec {client} "$@"\n')
    command.chmod(0o755)
    ready, told = os.pipe()
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py", folder / "socket", str(told), *MODULES],
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        pass_fds=[told], stdin=subprocess.PIPE,  # it ends when this pipe does: with the tests, however they end
    )  # fmt: skip
    os.close(told)
    try:
        assert os.read(ready, 1), "the server ended"
        yield str(command)
    finally:
        os.close(ready)
        server.communicate()
        shutil.rmtree(folder)
