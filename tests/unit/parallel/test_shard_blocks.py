"""A stage in blocks computes the same, and each parameter belongs to the block that reads it."""

import copy
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from hackathon.parallel.live import batches
from hackathon.parallel.live.capture import capture
from hackathon.parallel.live.shards import PIECES, in_blocks, is_shardable, leaves_stage
from hackathon.parallel.live.split import StagePart, split
from support.cuts import at_boundaries, legal_cuts
from support.partitioned_models import example

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def whole_stage(model: nn.Module, batch: Any, loss: Any) -> tuple[StagePart, list[Any]]:
    """Return a model with its loss as one stage, and the inputs of the stage."""
    first = batches.inputs_of(batch, loss is not None)
    captured = capture(model, first[0], first[1], loss, first[2], evaluation=False)
    (part,) = split(captured.train, dict.fromkeys(captured.operators, 0), stages=1)
    leaves = batches.leaves_of(first, torch.device("cpu"))
    return part, [leaves[at] for at in part.inputs]


def trained(model: nn.Module, module: nn.Module, inputs: list[Any]) -> list[torch.Tensor]:
    """Return loss, gradients and buffers of one pass."""
    model.zero_grad(set_to_none=True)
    loss = module(*inputs)[-1]
    loss.backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    return [each.detach().clone() for each in [loss, *gradients, *model.buffers()]]


@pytest.mark.parametrize("name", ["chain", "gpt", "untied", "unet"])
def test_blocks_are_equal_in_each_bit(name: str) -> None:
    model, batch, loss = example(name, 2)
    part, inputs = whole_stage(model, batch, loss)
    state = copy.deepcopy(model.state_dict())
    expected = trained(model, part.module, inputs)
    model.load_state_dict(state)
    made = in_blocks(part.module)
    found = trained(model, made.module, inputs)
    assert len(expected) == len(found) and all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    # each parameter is in one block; those that several read are in the whole
    blocks = [{id(each) for each in block.parameters()} for block in made.blocks]
    own = [each for key, each in made.module.named_parameters() if not key.startswith("block_")]
    assert len(blocks) > 2 and sum(map(len, blocks)) + len(own) == len(list(part.module.parameters()))
    assert [each.shape for each in own] == ([model.words.weight.shape] if name == "gpt" else [])
    sizes = [sum(each.nbytes for each in block.parameters()) for block in made.blocks]
    assert max(sizes) < 0.6 * sum(each.nbytes for each in part.module.parameters())
    assert len(blocks) <= 2 * PIECES


class Turned(nn.Module):
    """A model that reads one parameter through a view, in two places far from each other."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.scale = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.tensor(2.0))
        self.lines = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])
        self.frozen = nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = self.weight.t()
        x = x @ turned
        for line in self.lines:
            x = line(x).tanh() * self.scale
        return (self.frozen(x) @ turned).sum()  # type: ignore[no-any-return]


def test_what_several_blocks_read_through_a_view_belongs_to_the_whole() -> None:
    model = Turned()
    part, inputs = whole_stage(model, torch.randn(2, 4), None)
    expected = trained(model, part.module, inputs)
    made = in_blocks(part.module, [model.frozen.bias])
    found = trained(model, made.module, inputs)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    own = {id(each) for key, each in made.module.named_parameters() if not key.startswith("block_")}
    assert own == {id(model.weight), id(model.scale), id(model.frozen.bias)}
    assert any(id(model.frozen.weight) in {id(each) for each in block.parameters()} for block in made.blocks)
    assert not is_shardable(model.scale) and is_shardable(model.weight) and not is_shardable(model.weight.t())


def test_a_view_that_leaves_the_stage_is_told() -> None:
    model = Turned()
    first = torch.randn(2, 4)
    captured = capture(model, (first,), {}, None, None, evaluation=False)
    cut = next(each for each in legal_cuts(captured.train) if each > captured.operators.index("t"))
    parts = split(captured.train, at_boundaries(captured.train, [cut]))
    assert [id(each) for each in leaves_stage(parts[0].module)] == [id(model.weight)]
    assert leaves_stage(parts[1].module) == []
