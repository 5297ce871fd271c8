"""The back-ends that the tests of this folder run over."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import (
    Backend,
    KubernetesBackend,
    KumoBackend,
    LocalBackend,
    MiyabiBackend,
    PbsBackend,
    SlurmBackend,
)
from support.paths import TESTS


@pytest.fixture(scope="session")
def plug_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a stranger's scheduler was installed into, with pip."""
    target = tmp_path_factory.mktemp("plug-ins")
    source = shutil.copytree(TESTS / "support" / "kumo" / "plug_in", tmp_path_factory.mktemp("source") / "plug_in")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, source], check=True)
    return target


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Leave out tests of jobs that wait for others where the scheduler says that they cannot; one test is for those."""
    refusing = [item for item in items if item.get_closest_marker("waits") and not _waits(item)]
    items[:] = [item for item in items if item not in refusing]
    config.hook.pytest_deselected(items=refusing)


def _waits(item: pytest.Item) -> bool:
    kinds = {kind.name: kind for kind in Backend.__subclasses__()}
    name = item.callspec.params["backend"] if isinstance(item, pytest.Function) else ""
    return name not in kinds or kinds[name].waits()


@pytest.fixture(params=["local", "pbs", "miyabi", "kumo", "kubernetes", pytest.param("slurm", marks=pytest.mark.slurm)])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """One back-end after the other; nothing of a test's jobs is left when it is over."""
    made: Backend
    match request.param:
        case "slurm":
            made = SlurmBackend(request.getfixturevalue("slurm"))
        case "pbs":
            made = PbsBackend(tmp_path)
        case "miyabi":
            made = MiyabiBackend(tmp_path)
        case "kubernetes":
            made = KubernetesBackend(tmp_path)
        case "kumo":
            made = KumoBackend(tmp_path, request.getfixturevalue("plug_ins"))
        case _:
            made = LocalBackend(tmp_path)
    yield made
    made.stop()
