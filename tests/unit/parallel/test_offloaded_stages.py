"""AutoParallel with a stage in main memory trains, evaluates and saves exactly what it does without."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils import _pytree as pytree

from hackathon.parallel import AutoParallel
from hackathon.parallel.live import batches
from hackathon.text.errors import RequestError
from support.partitioned_models import example
from support.partitioned_ranks import operators_of, traced_once

pytestmark = [pytest.mark.torch, pytest.mark.slow]
MICRO_BATCHES, SAMPLES = 3, 6


def adam(parameters: list[Any]) -> Any:
    return torch.optim.AdamW(parameters, 0.01, eps=1e-3, fused=True)


def model_of(name: str, *, offload: bool, recompute: bool = False, **options: Any) -> tuple[AutoParallel, Any]:
    """Return a model in one stage, and its batch."""
    model, batch, loss = example(name, SAMPLES)
    operators, _ = operators_of(name, SAMPLES // MICRO_BATCHES)
    stage = {"operators": operators, "replicas": 1, "recompute": recompute, "offload": offload}
    plan = {"schema_version": 1, "micro_batches": MICRO_BATCHES, "stages": [stage]}
    with traced_once():
        made = AutoParallel(model, loss=loss, optimizer=adam, example=batch, plan=plan, seed=3, check=False, **options)
    return made, batch


def outputs(model: AutoParallel, batch: Any, name: str) -> list[Any]:
    args, kwargs, _ = batches.inputs_of(batch, name != "gpt")
    model.eval()
    found = [each.clone() for each in pytree.tree_flatten(model(*args, **kwargs))[0]]
    model.train()
    return found


@pytest.mark.parametrize("name", ["chain", "gpt", "unet"])
@pytest.mark.parametrize("recompute", [False, True])
def test_stage_in_main_memory_is_bit_equal(name: str, recompute: bool, tmp_path: Path) -> None:
    plain, batch = model_of(name, offload=False, recompute=recompute, max_grad_norm=1.0)
    other, _ = model_of(name, offload=True, recompute=recompute, max_grad_norm=1.0)
    assert plain.streamed is None and other.streamed is not None
    for _ in range(3):
        assert torch.equal(plain.step(batch), other.step(batch))
        for one, two in zip(outputs(plain, batch, name), outputs(other, batch, name), strict=True):
            assert torch.equal(one, two)
    expected, found = plain.state_dict(), other.state_dict()
    assert list(expected) == list(found) and all(torch.equal(found[key], each) for key, each in expected.items())
    assert 0 < other.streamed.peak <= other.streamed.planned
    assert other.streamed.resident <= 2 * max(other.streamed.block_bytes)
    # a checkpoint goes on under the other plan, both ways
    other.save(tmp_path / "offloaded")
    plain.save(tmp_path / "plain")
    loss = plain.step(batch)
    resumed, _ = model_of(name, offload=False, recompute=recompute, max_grad_norm=1.0)
    resumed.load(tmp_path / "offloaded")
    again, _ = model_of(name, offload=True, recompute=recompute, max_grad_norm=1.0)
    again.step(batch)  # what is on the device now must not survive
    again.load(tmp_path / "plain")
    assert torch.equal(resumed.step(batch), loss) and torch.equal(again.step(batch), loss)


@pytest.mark.parametrize(("option", "value"), [("precision", "bf16"), ("compiler", "eager")])
def test_what_does_not_go_with_main_memory_is_refused(option: str, value: str) -> None:
    with pytest.raises(RequestError, match=f"stage 0 of the plan keeps its parameters in main memory.*{option}="):
        model_of("chain", offload=True, **{option: value})
