"""Stages of modules that cannot be captured give the numbers of the plain loop, over several processes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.installed import needs
from support.paths import ROOT
from support.patience import STRETCH

needs("torch")

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(600)]
TWO = (
    "in place", "mapping", "loss alone", "gpipe", "interleaved", "recompute", "bf16", "averaging", "tied",
    "checkpoints of modules", "own plan", "refusals",
)  # fmt: skip
THREE = ("replicas", "tied replicas")
"""Scenarios of tests/support/module_ranks.py."""
CLOSE = 1e-6


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what the ranks found; two and three ranks are forked from one process."""
    folder = tmp_path_factory.mktemp("ranks")
    program = ROOT / "tests" / "support" / "module_ranks.py"
    done = subprocess.run(
        [sys.executable, program, folder, "2", *TWO, "3", *THREE], capture_output=True, text=True,
        timeout=STRETCH * 200,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def _of_ranks(folder: Path) -> dict[str, Any]:
    """Return scenario → what rank 0 found; no rank has failed."""
    failed = {path.stem: path.read_text() for path in folder.glob("*.txt")}
    assert not failed, "\n".join(failed.values())
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.fixture(scope="module")
def two(launched: Path) -> dict[str, Any]:
    return _of_ranks(launched / "2")


@pytest.fixture(scope="module")
def three(launched: Path) -> dict[str, Any]:
    return _of_ranks(launched / "3")


def _is_equal(found: dict[str, Any], limit: float, *, buffers: bool = True) -> None:
    assert found["losses"] <= limit and found["parameters"] <= limit, found
    assert not buffers or found["buffers"] <= limit, found
    assert found["names"] and found["held"] == 0 and found["kept"], found
    assert found["moved"] > 1e-3, found  # the three steps have trained something


@pytest.mark.parametrize(
    "name", ["in place", "mapping", "loss alone", "gpipe", "interleaved", "recompute", "averaging"]
)
def test_two_stages_of_modules_are_equal_in_each_bit(two: dict[str, Any], name: str) -> None:
    _is_equal(two[name], 0.0)
    assert two[name]["in flight"] == {"gpipe": [2, 2], "interleaved": [4, 3]}.get(name, [2, 1])
    assert two[name]["evaluation"] == two[name]["again"] == 0.0 and two[name]["trains"]
    assert two[name]["last"] < 1e-5  # a batch of another size, whose products are summed in another order


def test_modules_in_bf16_round_as_in_the_plain_loop(two: dict[str, Any]) -> None:
    _is_equal(two["bf16"], 0.0)


def test_a_module_in_two_stages_stays_one(two: dict[str, Any], three: dict[str, Any]) -> None:
    _is_equal(two["tied"], CLOSE)
    _is_equal(three["tied replicas"], CLOSE)


def test_replicas_of_modules_give_the_same(three: dict[str, Any]) -> None:
    # statistics of normalisation are those of the first replica of a stage; here their stage has one
    _is_equal(three["replicas"], CLOSE)
    assert three["replicas"]["evaluation"] < 1e-5


def test_a_checkpoint_of_modules_goes_on_under_another_plan_and_in_the_plain_loop(two: dict[str, Any]) -> None:
    found = two["checkpoints of modules"]
    assert found["loaded"] == found["other plan"] == found["plain"] == 0.0 and found["moved"] > 1e-3


def test_without_a_plan_modules_are_measured_and_planned(two: dict[str, Any]) -> None:
    found = two["own plan"]
    assert found["apart"] < CLOSE and found["processes"] == 2
    assert found["names"] == ["0", "1", "2", "3", "4.0", "4.1", "5", "6", "7", "8", "loss"]


def test_each_rank_is_told_why_modules_cannot_be_parted(two: dict[str, Any]) -> None:
    assert two["refusals"] == {
        "objects": ["auto_parallel.handed_on"] * 2, "objects in one stage": ["accepted"] * 2,
        "statistics": ["auto_parallel.shared_buffer"] * 2, "failing": ["auto_parallel.module_failed"] * 2,
        "shapes": ["auto_parallel.module_failed"] * 2,
    }  # fmt: skip
