"""Packed gradients: what comes out, how many bytes they take, and that error feedback matters."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from support.paths import RECIPES, SHARED

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shared_compression", SHARED / "compression.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMPRESSION = _module()


def packing(hook: str, keep: bool = True) -> Any:
    return COMPRESSION.Packing(*COMPRESSION.PACKERS[hook], keep=keep)


@pytest.mark.parametrize("hook", COMPRESSION.PACKERS)
@given(count=st.integers(1, 5000), seed=st.integers(0, 1000), scale=st.sampled_from([1e-20, 1.0, 1e20]))
@settings(max_examples=30, deadline=None)
def test_what_is_sent_and_what_is_kept_make_up_the_gradient(hook: str, count: int, seed: int, scale: float) -> None:
    gradient = torch.randn(count, generator=torch.Generator().manual_seed(seed)) * scale
    made = packing(hook)
    payload = made.packed(0, gradient)
    sent = made.unpack(payload, count)
    assert payload.dtype == torch.uint8 and sent.shape == gradient.shape
    assert torch.allclose(sent + made._memory[0], gradient, rtol=1e-5, atol=scale * 1e-5)
    assert payload.numel() == made.packed(0, gradient).numel(), "as many bytes each time: everybody gathers as many"
    if hook == "int8":
        assert (sent - gradient).abs().max() <= gradient.abs().max() / 127 / 2 * 1.001
    if hook == "topk":
        assert (sent != 0).sum() <= max(1, round(0.01 * count))
    if hook == "onebit" and count > 50:
        assert ((sent >= 0) == (gradient >= 0)).all() or (gradient == 0).any()


def test_bytes() -> None:
    gradient = torch.randn(102_400)
    sizes = {hook: packing(hook).packed(0, gradient).numel() / gradient.nbytes for hook in COMPRESSION.PACKERS}
    assert sizes["int8"] == pytest.approx(0.251, abs=1e-3) and sizes["topk"] == pytest.approx(0.02, abs=1e-3)
    assert sizes["onebit"] == pytest.approx(1 / 32 + 1 / 1024, abs=1e-4)
    for processes in (2, 4, 8):
        sent = COMPRESSION.Sent(processes, 1000)
        assert sent.bytes == pytest.approx(2000 * (processes - 1) / processes), "as the uncompressed training"
        sent.reduced(500)
        sent.end(False)
        sent.gathered(10)
        sent.end(True)
        assert sent.bytes == pytest.approx(1000 * (processes - 1) / processes + 10 * (processes - 1))


def test_an_overflow_does_not_stay() -> None:
    for hook in COMPRESSION.PACKERS:
        made = packing(hook)
        broken = torch.randn(300)
        broken[7] = float("inf")
        made.packed(0, broken)
        sent = made.unpack(made.packed(0, torch.ones(300)), 300)
        assert sent.isfinite().all() and made._memory[0].isfinite().all(), hook


def test_zeros_and_other_buckets() -> None:
    for hook in COMPRESSION.PACKERS:
        made = packing(hook)
        assert (made.unpack(made.packed(0, torch.zeros(10)), 10) == 0).all()
        made.packed(1, torch.randn(2000))
        made.packed(1, torch.randn(10))
        assert made._memory[1].numel() == 10, "buckets were put together anew: the memory begins again"


def trained(hook: str, keep: bool, steps: int = 400) -> float:
    """Return the loss at the end of a least-squares training of two workers with different data, without any network.

    The rows differ much in size, as those of real gradients do: a part of the weights is seldom among the largest.
    """
    draw = torch.Generator().manual_seed(1)
    scale = torch.logspace(0, -1.3, 200)
    inputs = [torch.randn(300, 200, generator=draw) * scale + worker * 0.1 for worker in range(2)]
    truth = torch.randn(200, generator=draw)
    targets = [each @ truth for each in inputs]
    weights = torch.zeros(200)
    workers = [packing(hook, keep) for _ in range(2)] if hook != "none" else []
    for step in range(steps):
        gradients = [x.T @ (x @ weights - y) / len(y) for x, y in zip(inputs, targets, strict=True)]
        if workers:
            gradients = [made.unpack(made.packed(0, each), 200) for made, each in zip(workers, gradients, strict=True)]
        weights = weights - 0.15 * (1 - step / steps) * sum(gradients) / 2
    return float(sum((x @ weights - y).square().mean() for x, y in zip(inputs, targets, strict=True)) / 2)


@pytest.mark.slow
def test_error_feedback_matters() -> None:
    plain = trained("none", True)
    kept = {hook: trained(hook, True) for hook in COMPRESSION.PACKERS}
    lost = {hook: trained(hook, False) for hook in COMPRESSION.PACKERS}
    assert kept["int8"] == pytest.approx(plain, rel=0.05) and lost["int8"] < 1.2 * plain
    assert lost["topk"] > 2 * kept["topk"] and lost["onebit"] > 2 * kept["onebit"], (plain, kept, lost)


def test_recipes_offer_every_hook() -> None:
    for name in ("torch-ddp", "torch-ddp-tuned"):
        declared = yaml.safe_load((RECIPES / name / "recipe.yaml").read_text())["parameters"]["hook"]
        assert declared["choices"] == list(COMPRESSION.HOOKS) and declared["default"] == "none"


def test_the_check_of_gradients_allows_what_rounding_does() -> None:
    assert COMPRESSION.tolerance("none", 64) == COMPRESSION.tolerance("topk", 2) == 1e-3
    assert COMPRESSION.tolerance("bf16", 8) == pytest.approx(16e-3)
    # two neighbouring numbers of bf16 are up to 2^-7 apart, of fp16 up to 2^-10
    assert 2**-7 < COMPRESSION.tolerance("none", 2, "bf16") < 0.05
    assert 2**-10 < COMPRESSION.tolerance("none", 2, "fp16") < 0.01
    assert COMPRESSION.tolerance("bf16", 64, "fp16") == COMPRESSION.tolerance("bf16", 64)
