"""The real Grid Engine that tests share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.gridengine_lab.lab import GridEngineLab, missing


@pytest.fixture(scope="session")
def gridengine() -> Iterator[GridEngineLab]:
    """A running Grid Engine with a login host and three execution hosts; nothing of it is in the environment."""
    if reason := missing():
        pytest.skip(f"no real Grid Engine: {reason}")
    # not below pytest's own folder: those of root are closed to others, and a lab is reached by its name
    directory = Path(tempfile.mkdtemp(prefix="hk-gridengine-", dir="/tmp"))
    try:
        with GridEngineLab(directory) as lab:
            yield lab
    finally:
        shutil.rmtree(directory, ignore_errors=True)
