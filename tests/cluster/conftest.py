"""The back-ends that the tests of this folder run over."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from backends import Backend, LocalBackend, PbsBackend, SlurmBackend


@pytest.fixture(params=["local", "pbs", pytest.param("slurm", marks=pytest.mark.slurm)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """One back-end after the other; nothing of a test's jobs is left when it is over."""
    made: Backend
    match request.param:
        case "slurm":
            made = SlurmBackend(request.getfixturevalue("slurm"))
        case "pbs":
            made = PbsBackend(tmp_path)
        case _:
            made = LocalBackend(tmp_path)
    yield made
    made.stop()
