"""The real Slurm that tests share."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.slurm_lab.lab import SlurmLab, missing


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmLab]:
    """A running four-node Slurm with accounting; SLURM_CONF is set for the whole session."""
    if reason := missing():
        pytest.skip(f"no real Slurm: {reason}")
    # A short path: pytest's own can be too long for a unix socket.
    directory = Path(tempfile.mkdtemp(prefix="hk-slurm-", dir="/tmp"))
    before = os.environ.get("SLURM_CONF")
    try:
        with SlurmLab(directory) as lab:
            os.environ.update(lab.environment)
            yield lab
    finally:
        os.environ.pop("SLURM_CONF", None)
        if before is not None:
            os.environ["SLURM_CONF"] = before
        shutil.rmtree(directory, ignore_errors=True)
