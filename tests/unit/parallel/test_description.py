"""Captured models as graph.json: nothing is lost, memory counts as in autograd, each cut gives equal bits."""

import functools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from hackathon.parallel.description import measure
from hackathon.parallel.description.built import build
from hackathon.parallel.description.measure import DevicePeaks, Signature, estimated, roofline, times_of
from hackathon.parallel.description.work import KernelWork, fact_of, look
from support import networks
from support.cut_networks import CutNetwork
from support.described import Described, really_kept
from support.paths import ROOT
from support.stacks import warm_path

pytestmark = [pytest.mark.slow, pytest.mark.torch]
OTHERS = {"bert", "gpt2", "llama", "t5", "vit", "mixtral"}
COUNTS = {"mlp": (9, 7720), "unet": (48, 30536), "lstm": (11, 10436), "counter": (10, 336)}
"""Model → its operators, and bytes of its trainable parameters as the sizes of its layers say."""


@functools.cache
def described_by_name(name: str) -> Described:
    """Return one of the models that are captured, for all tests once."""
    return Described(networks.CAPTURED[name])


@pytest.mark.parametrize("name", list(networks.CAPTURED))
def test_each_operator_is_in_one_stage_and_no_parameter_is_lost(name: str) -> None:
    described = described_by_name(name)
    assert all(each.is_meta for each in described.built.model.parameters())
    for count in (1, 2, 3):
        described.check(described.stages(count))
    found = described.numbers()
    if name in COUNTS:
        assert (found["operators"], found["parameters"]) == COUNTS[name]
    assert found["unseen"] == 0 and found["forward"] > 0 and found["backward"] > found["forward"] / 3
    stages = described.stages(2)
    with pytest.raises(AssertionError):
        described.check([stages[0], stages[1][1:]])
    with pytest.raises(AssertionError):
        described.check([stages[0], stages[1], stages[1][:1]])


def test_models_of_transformers_are_captured_and_planned() -> None:
    file = ROOT / "tests" / "support" / "transformers_networks.py"
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [f"{warm_path('own-code')}/python", "-m", "support.described", str(file)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == OTHERS
    assert {name: each["unseen"] for name, each in found.items()} == dict.fromkeys(OTHERS, 0)
    assert all(each["operators"] > 50 and each["saved"] > 1e4 for each in found.values())


@pytest.mark.parametrize("name", list(networks.CAPTURED))
def test_what_is_kept_for_the_backward_pass_is_what_autograd_keeps(name: str) -> None:
    found = described_by_name(name).numbers()["saved"]
    built = build(networks.CAPTURED[name], Path(__file__), "cpu")
    assert found == really_kept(built)


def test_shared_and_frozen_parameters_and_buffers() -> None:
    rows = Described(networks.counter).json
    of = {each["name"]: each for each in rows["operators"]}
    weight, bias = 6 * 6 * 4, 6 * 4
    assert [of[name]["parameters"] for name in ("linear", "linear_1", "linear_2", "linear_3")] == [
        weight + bias, weight + bias, 0, weight + bias,
    ]  # fmt: skip
    assert of["linear_2"]["frozen"] == weight + bias and of["add_"]["buffers"] == 4
    assert sorted((each["operators"], each["bytes"]) for each in rows["aliases"]) == [
        (["linear_1", "linear_3"], bias), (["linear_1", "linear_3"], weight),
    ]  # fmt: skip
    tied = Described(networks.gpt).json["aliases"]
    assert [(each["operators"], each["bytes"]) for each in tied] == [(["embedding", "linear_12"], 50 * 16 * 4)]
    edges = {(each["from"], each["to"]): each for each in rows["edges"]}
    assert edges["linear_2", "tanh"]["bytes"] == edges["linear_2", "tanh"]["gradient_bytes"] == 4 * 6 * 4
    modules = {each["name"]: each["module"] for each in rows["operators"]}
    assert modules["linear_2"] == "frozen" and modules["linear_3"] == "twice"


def test_every_cut_of_a_unet_gives_equal_bits_and_every_glued_one_is_refused() -> None:
    network = CutNetwork(networks.unet)
    assert len(network.cuts) > 30
    assert [cut for cut in network.cuts if not network.equal(cut)] == []
    others = set(range(1, len(network.traced.operators))) - set(network.cuts)
    assert len(others) >= 5 and {network.refused(cut) for cut in others} == {"glued"}
    assert {network.refused(cut) for cut in network.cuts} == {""}


def test_cuts_of_resnet_50_give_equal_bits_and_every_glued_one_is_refused() -> None:
    """A twelfth of them; `tests/bench/bench_capture.py cuts` tries all."""
    network = CutNetwork(networks.resnet50)
    assert len(network.cuts) > 120
    assert [cut for cut in network.cuts[5::12] if not network.equal(cut)] == []
    others = set(range(1, len(network.traced.operators))) - set(network.cuts)
    assert len(others) > 50 and {network.refused(cut) for cut in others} == {"glued"}


def test_a_model_that_no_machine_holds_needs_little_memory() -> None:
    """10.6 B parameters, 42 GB; `tests/bench/bench_capture.py large` takes 101 B and 1,008 B."""
    code = """if True:
        import re
        from support import networks
        from support.described import Described
        described = Described(networks.gpt_10b)
        described.check(described.stages(8))
        rows = described.json["operators"]
        flops = sum(each["forward"] for each in rows) * 1e10
        status = open("/proc/self/status").read()  # ru_maxrss of a child begins with its parent's
        print(described.parameters(), flops, int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024)
    """
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    size, flops, peak = map(float, done.stdout.split())
    width, depth, length, words = 10_240, 8, 2048, 50_000
    layer = 12 * width**2 + 13 * width
    assert size == 4 * (depth * layer + words * width + length * width + 2 * width)
    products = 2 * length * (depth * 12 * width**2 + words * width)
    assert products < flops < 1.3 * products
    assert peak < 1e9


# ---- times

PEAKS = DevicePeaks({"fp32": 1e9, "bf16": 4e9}, 1e8)


def _signature(target: object, *args: object) -> Signature:
    return Signature(target, args, {}, True, look(target, args, {}))


def _fact(*shape: int, gradient: bool = True) -> object:
    return fact_of(torch.empty(shape, device="meta"), gradient)


def test_a_kernel_takes_the_longer_of_computing_and_moving() -> None:
    assert roofline([KernelWork(2e9, 1e6, "fp32")], PEAKS) == 2.0
    assert roofline([KernelWork(2e9, 1e9, "bf16"), KernelWork(0.0, 1e8, "fp32")], PEAKS) == 11.0
    assert PEAKS.of("fp16") == 4e9 and PEAKS.of("fp64") == 1e9
    linear = _signature(torch.ops.aten.linear.default, _fact(64, 32), _fact(16, 32), _fact(16))
    (product,) = linear.work.forward
    assert product.flops == 2 * 64 * 32 * 16 and product.bytes == 4 * (64 * 32 + 16 * 32 + 16 + 64 * 16)
    assert sum(each.flops for each in linear.work.backward) == 2 * product.flops
    view = _signature(torch.ops.aten.view.default, _fact(64, 32), [32, 64])
    assert estimated([view], PEAKS) == [(0.0, 0.0)] and view.work.same == (0,)


def test_attention_keeps_no_matrix_where_it_need_not() -> None:
    shape = _fact(2, 4, 64, 8)
    plain = look(torch.ops.aten.scaled_dot_product_attention.default, (shape, shape, shape), {})
    assert plain.kept_inside < 2 * 4 * 64 * 64 and plain.kept_inputs == (0, 1, 2)
    dropped = look(torch.ops.aten.scaled_dot_product_attention.default, (shape, shape, shape, None, 0.1), {})
    assert dropped.kept_inside >= 2 * 4 * 64 * 64 * 4  # the CPU has no such kernel with dropout


def test_memory_that_holds_files_counts_as_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "meminfo"
    monkeypatch.setattr(measure, "MEMINFO", told)
    by_system = float(os.sysconf("SC_PAGE_SIZE")) * 5
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_AVPHYS_PAGES": 5, "SC_PAGE_SIZE": by_system / 5}[name])
    told.write_text("MemTotal:       131 kB\nMemFree:         5 kB\nMemAvailable:   120 kB\nCached:  90 kB\n")
    assert measure.free_memory("cpu") == 120 * 1024
    for text in ("MemTotal: 131 kB\nMemFree: 5 kB\n", "MemAvailable: many kB\n", "MemAvailable:\n", ""):
        told.write_text(text)  # an older system does not say it
        assert measure.free_memory("cpu") == by_system
    told.unlink()
    assert measure.free_memory("cpu") == by_system


def test_times_are_measured_where_there_is_a_device_and_estimated_without_one() -> None:
    signatures = [
        _signature(torch.ops.aten.linear.default, _fact(64, 32), _fact(16, 32), _fact(16)),
        _signature(torch.ops.aten.relu.default, _fact(64, 16)),
    ]
    without = times_of(signatures, [3, 2], PEAKS, None, 0.0)
    assert list(without.seconds) == estimated(signatures, PEAKS) and without.basis["measured"] == 0
    asked: list[float] = []

    def whole(device: str, free: float) -> tuple[float, float]:
        asked.append(free)
        return 5.0, 7.0

    scaled = times_of(signatures, [3, 2], PEAKS, "cpu", 60.0, whole)
    assert scaled.basis["measured"] == 2 and asked[0] > 0
    for way, seconds in enumerate((5.0, 7.0)):
        total = sum(count * pair[way] for count, pair in zip([3, 2], scaled.seconds, strict=True))
        assert math.isclose(total, seconds, rel_tol=1e-9)
    late = times_of(signatures, [3, 2], PEAKS, "cpu", 0.0)
    assert late.basis["measured"] == 0 and list(late.seconds) == estimated(signatures, PEAKS)
