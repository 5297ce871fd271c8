"""On nodes without a GPU the ranks of an own program tell Accelerate, Lightning and Fabric that they share the work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import LocalBackend, Site

NAMES = (
    "ACCELERATE_USE_CPU",
    "LT_DEVICES",
    "LT_NUM_NODES",
    "PL_TRAINER_DEVICES",
    "PL_TRAINER_NUM_NODES",
    "LT_CLI_USED",
)
PRINTS = f"import os\nprint('SET', *(os.environ.get(name, '-') for name in {NAMES}))\n"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(LocalBackend(tmp_path), tmp_path / "project", walltime="600s")
    yield made
    made.backend.stop()


def values(site: Site, processes: int, *, gpus: int = 0, text: str = "", **project: object) -> list[list[str]]:
    """Return the values of NAMES in each rank of a run, `-` for those that are not set."""
    site.write_project("python train.py", launcher="local", nodes=1, processes=processes, **project)
    (site.folder / "train.py").write_text(PRINTS + text)
    site.write_profile(processes_per_node=2, launchers=["local"], node={"cores": 4, "gpus": gpus})
    run = site.submit()
    assert site.await_state(run, "SUCCEEDED", "FAILED")["state"] == "SUCCEEDED", run.log()
    return [run.log(f"rank-{rank}").partition("SET ")[2].split() for rank in range(processes)]


def test_several_ranks_share_the_work_and_one_is_left_alone(site: Site) -> None:
    assert values(site, 2, framework="torch") == [["true", "2", "1", "2", "1", "-"]] * 2
    assert values(site, 1, framework="torch") == [["-"] * 6]


def test_own_values_stay_and_fabric_is_launched_once(site: Site) -> None:
    own = {"ACCELERATE_USE_CPU": "false", "LT_DEVICES": "1"}
    shared = values(site, 2, text="# fabric = Fabric()\n", framework="torch", variables=own)
    assert [(*row[:2], row[-1]) for row in shared] == [("false", "1", "1")] * 2
    launched = values(site, 2, text="# fabric = Fabric()\n# fabric.launch()\n", framework="torch")
    assert [row[-1] for row in launched] == ["-"] * 2


@pytest.mark.parametrize(("framework", "gpus"), [("keras", 0), ("torch", 2)])
def test_other_frameworks_and_gpus_have_none(site: Site, framework: str, gpus: int) -> None:
    assert values(site, 2, framework=framework, gpus=gpus) == [["-"] * 6] * 2
