"""Training in stages over several processes gives the numbers of the plain program, and fails by name."""

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
    "chain-2", "unet-2", "untied-2", "untied-2-gpipe", "chain-2-recompute", "schedule-2", "own-plan-2", "bf16-2",
    "compiled-2", "tied-2", "tied-2-broken", "clip-2", "different-2", "unseeded-2", "shard-2", "shard-2-bf16",
    "interleaved-2", "interleaved-2-recompute", "zero-bubble-2", "interleaved-2-checkpoint", "hangs",
)  # fmt: skip
FOUR = (
    "unet-4", "untied-4", "replicas-1-3", "replicas-1-2-1", "replicas-2-1-1", "replicas-broken", "replicas-tied-broken",
    "checkpoints", "meta", "shard-2-2", "shard-1-3", "shard-checkpoints", "zero-bubble-4", "interleaved-2x2",
    "zero-bubble-2x2", "dies",
)  # fmt: skip
"""Scenarios of tests/support/partitioned_ranks.py; the last of each ends its processes."""
CLOSE = 1e-6


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of what the ranks found, and what they printed; two and four ranks are forked from one process."""
    folder = tmp_path_factory.mktemp("ranks")
    program = ROOT / "tests" / "support" / "partitioned_ranks.py"
    done = subprocess.run(
        [sys.executable, program, folder, "2", *TWO, "4", *FOUR], capture_output=True, text=True,
        timeout=STRETCH * 500,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def _of_ranks(launched: tuple[Path, str], ranks: int) -> dict[str, Any]:
    """Return scenario → what rank 0 found; no rank has failed."""
    folder = launched[0] / str(ranks)
    failed = {path.stem: path.read_text() for path in folder.glob("*.txt")}
    assert not failed, "\n".join(failed.values())
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")} | {"stderr": launched[1]}


@pytest.fixture(scope="module")
def two(launched: tuple[Path, str]) -> dict[str, Any]:
    return _of_ranks(launched, 2)


@pytest.fixture(scope="module")
def four(launched: tuple[Path, str]) -> dict[str, Any]:
    return _of_ranks(launched, 4)


def _is_equal(found: dict[str, Any], limit: float, *, buffers: bool = True) -> None:
    # losses are up to 3, where two neighbouring numbers of float32 are 2.4e-7 apart
    assert found["losses"] <= 3 * limit and found["parameters"] <= limit, found
    assert not buffers or found["buffers"] <= limit, found
    assert found["names"] and found["held"] == 0, found
    # what the plan counts as memory; the last replicas may get one micro-batch less than the first
    pairs = zip(found["in flight"], found["planned in flight"], strict=True)
    assert all(0 <= planned - held <= 1 for held, planned in pairs), found
    assert found["in flight"][0] == found["planned in flight"][0], found
    assert found["moved"] > 1e-3, found  # the three steps have trained something


@pytest.mark.parametrize("name", ["chain-2", "unet-2", "untied-2", "untied-2-gpipe", "chain-2-recompute", "schedule-2"])
def test_two_stages_are_equal_in_each_bit(two: dict[str, Any], name: str) -> None:
    _is_equal(two[name], 0.0)


@pytest.mark.parametrize("name", ["unet-4", "untied-4"])
def test_four_stages_are_equal_in_each_bit(four: dict[str, Any], name: str) -> None:
    _is_equal(four[name], 0.0)


@pytest.mark.parametrize("name", ["interleaved-2", "interleaved-2-recompute", "zero-bubble-2", "zero-bubble-4"])
def test_several_stages_in_each_process_are_equal_in_each_bit(
    two: dict[str, Any], four: dict[str, Any], name: str
) -> None:
    found = (four if name == "zero-bubble-4" else two)[name]
    _is_equal(found, 0.0)


@pytest.mark.parametrize("name", ["interleaved-2x2", "zero-bubble-2x2"])
def test_several_stages_in_each_process_with_replicas_and_tied_weights(four: dict[str, Any], name: str) -> None:
    _is_equal(four[name], CLOSE)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("chain-2", 0.0),
        ("unet-2", 0.0),
        ("tied-2", 1e-5),
        ("interleaved-2", 0.0),
        ("untied-4", 0.0),
        ("interleaved-2x2", 1e-5),
        ("shard-1-3", 1e-5),
    ],
)
def test_evaluation_is_that_of_the_plain_program(
    two: dict[str, Any], four: dict[str, Any], name: str, limit: float
) -> None:
    found = (two if name in TWO else four)[name]
    assert found["evaluation"] <= limit
    # a batch of another size, whose products are summed in another order
    assert found["last"] <= max(limit, CLOSE)


def test_a_checkpoint_of_interleaved_stages_goes_on_with_one_stage_in_each_process(two: dict[str, Any]) -> None:
    found = two["interleaved-2-checkpoint"]
    assert found["loaded"] == 0.0 and found["gone on"] < CLOSE and found["moved"] > 1e-3


def test_bf16_rounds_as_in_the_plain_program(two: dict[str, Any]) -> None:
    _is_equal(two["bf16-2"], 0.0)


def test_a_compiled_stage_gives_the_same(two: dict[str, Any]) -> None:
    _is_equal(two["compiled-2"], CLOSE)


def test_tied_weights_stay_tied(two: dict[str, Any]) -> None:
    _is_equal(two["tied-2"], CLOSE)


def test_the_norm_of_gradients_counts_tied_weights_once(two: dict[str, Any]) -> None:
    _is_equal(two["clip-2"], CLOSE)


def test_replicas_give_the_same(four: dict[str, Any]) -> None:
    _is_equal(four["replicas-1-3"], CLOSE)
    _is_equal(four["replicas-2-1-1"], CLOSE)
    # statistics of normalisation are those of the first replica: only the trained numbers are compared
    _is_equal(four["replicas-1-2-1"], CLOSE, buffers=False)
    assert "statistics of normalisation" in four["stderr"]


def test_without_the_sum_over_tied_weights_or_replicas_the_numbers_differ(
    two: dict[str, Any], four: dict[str, Any]
) -> None:
    for found in (two["tied-2-broken"], four["replicas-tied-broken"], four["replicas-broken"]):
        assert found["parameters"] > 100 * CLOSE, found


def test_a_checkpoint_goes_on_under_another_plan_and_in_the_plain_program(four: dict[str, Any]) -> None:
    found = four["checkpoints"]
    assert found["loaded"] == 0.0 and found["state_dict"] == 0.0
    assert found["other plan"] < CLOSE and found["plain"] < CLOSE
    assert found["moved"] > 1e-3


@pytest.mark.parametrize(("name", "ranks"), [("shard-2", 2), ("shard-2-2", 4), ("shard-1-3", 4)])
def test_replicas_that_divide_the_parameters_give_the_same(
    two: dict[str, Any], four: dict[str, Any], name: str, ranks: int
) -> None:
    found = (two if ranks == 2 else four)[name]
    # statistics of normalisation are those of the first replica
    _is_equal(found, CLOSE, buffers="unet" not in name and name != "shard-2-2")


def test_replicas_that_divide_the_parameters_round_as_in_the_plain_program(two: dict[str, Any]) -> None:
    _is_equal(two["shard-2-bf16"], CLOSE)


@pytest.mark.parametrize(("name", "replicas"), [("shard-2", [2]), ("shard-2-2", [2, 2]), ("shard-1-3", [1, 3])])
def test_each_replica_keeps_its_part_of_parameters_gradients_and_optimizer_states(
    two: dict[str, Any], four: dict[str, Any], name: str, replicas: list[int]
) -> None:
    ranks = (two if len(replicas) == 1 else four)[name]["kept"]
    for stage, count in enumerate(replicas):
        kept = [each for each in ranks if each["stage"] == stage]
        assert len(kept) == count
        for kind in ("parameters", "gradients", "optimizer"):
            own, all_ = [each[kind][0] for each in kept], {each[kind][1] for each in kept}
            if count == 1:
                assert own == [0]  # it has no other to divide with
                continue
            (whole,) = all_
            assert whole > 0 and sum(own) == whole, (stage, kind)  # nothing is kept twice, nothing is lost
            # rows that cannot be divided evenly are at most one for each parameter
            assert max(own) <= 1.25 * whole / count, (stage, kind)
        if count > 1:
            stage_bytes = kept[0]["parameters"][1]
            # a pass gathers a block; with what the backward pass fetches ahead and what several blocks read, never all
            assert all(0 < each["gathered"] < 0.7 * stage_bytes for each in kept), kept
            assert all(each["after"] == 0 for each in kept), kept
    # tied over the two stages: it stays whole
    names = {each for rank in ranks for each in rank["names"] if replicas[rank["stage"]] > 1}
    assert names == ({"words.weight"} if name == "shard-1-3" else set())


def test_a_checkpoint_of_divided_parameters_goes_on_under_other_plans(four: dict[str, Any]) -> None:
    found = four["shard-checkpoints"]
    assert found["loaded"] == 0.0 and found["state_dict"] == 0.0
    assert found["other plan"] < CLOSE and found["plain"] < CLOSE
    assert found["moved"] > 1e-3


def test_a_model_on_the_meta_device_gets_numbers_that_do_not_depend_on_the_plan(four: dict[str, Any]) -> None:
    found = four["meta"]
    assert found["apart"] <= CLOSE and found["less"] and found["finite"]
    assert 0.3 < found["numbers"] < 3.0  # drawn from the normal distribution of an embedding


def test_without_a_plan_the_processes_measure_and_plan(two: dict[str, Any]) -> None:
    found = two["own-plan-2"]
    assert found["apart"] < CLOSE
    assert (found["processes"], found["micro_batches"]) == (2, 4)


def test_processes_with_other_batches_are_told_so(two: dict[str, Any]) -> None:
    assert two["different-2"] == {"told": "auto_parallel.batches_differ", "same": "accepted"}


def test_models_with_other_first_numbers_take_those_of_rank_0(two: dict[str, Any]) -> None:
    assert two["unseeded-2"] == {"apart": 0.0, "held": True}


def test_a_dead_rank_ends_all_with_its_stage_named(four: dict[str, Any]) -> None:
    assert four["codes"] == [1, 1, 9, 1]
    for rank in (0, 1, 3):
        told = four[f"dies.rank-{rank}"]
        assert (told["stage"], told["rank"]) == (2, 2)
        assert told["seconds"] < 240  # the time limit, which is not waited for


def test_a_rank_that_stands_still_is_named_after_the_time_limit(two: dict[str, Any]) -> None:
    assert two["codes"] == [1, 0]
    assert two["hangs.rank-0"]["stage"] == 1
    assert "stage 1" in two["hangs.rank-0"]["text"]
