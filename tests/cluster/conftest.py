"""The back-ends that the tests of this folder run over."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import (
    NAMES,
    Backend,
    KubernetesBackend,
    KumoBackend,
    LocalBackend,
    MiyabiBackend,
    NqsvBackend,
    PbsBackend,
    PjmBackend,
    SlurmBackend,
    WisteriaBackend,
)
from support.gridengine_lab.backend import GridEngineBackend
from support.paths import TESTS


@pytest.fixture(scope="session")
def plug_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a stranger's scheduler was installed into, with pip."""
    target = tmp_path_factory.mktemp("plug-ins")
    source = shutil.copytree(TESTS / "support" / "kumo" / "plug_in", tmp_path_factory.mktemp("source") / "plug_in")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, source], check=True)
    return target


@pytest.fixture(params=NAMES)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """One back-end after the other; nothing of a test's jobs is left when it is over."""
    made: Backend
    match request.param:
        case "slurm":
            made = SlurmBackend(request.getfixturevalue("slurm"))
        case "gridengine":
            made = GridEngineBackend(request.getfixturevalue("gridengine"))
        case "pbs":
            made = PbsBackend(tmp_path)
        case "miyabi":
            made = MiyabiBackend(tmp_path)
        case "pjm":
            made = PjmBackend(tmp_path)
        case "wisteria":
            made = WisteriaBackend(tmp_path)
        case "nqsv":
            made = NqsvBackend(tmp_path)
        case "kubernetes":
            made = KubernetesBackend(tmp_path)
        case "kumo":
            made = KumoBackend(tmp_path, request.getfixturevalue("plug_ins"))
        case _:
            made = LocalBackend(tmp_path)
    yield made
    made.stop()
