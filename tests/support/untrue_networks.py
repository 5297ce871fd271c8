"""Models of which a graph of operators would train another one: what it leaves out, and what it decides once."""

import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

COUNT = [0]
"""A counter outside of any module."""


class Rounded(torch.autograd.Function):
    """Rounds; the gradient goes straight through."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, steps: float) -> torch.Tensor:
        return torch.round(x * steps) / steps

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


class Reversed(torch.autograd.Function):
    """Changes the sign of the gradient, and drops some numbers."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.view_as(x), nn.functional.dropout(x, 0.5)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return -gradients[0] - 2 * gradients[1]


class Called(torch.autograd.Function):
    """Takes a function, which no operator does."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        return function(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradients[0], None


class Packed(torch.autograd.Function):
    """Changes what it is given."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0]


rounded = Rounded.apply
"""Bound when the module is imported, as most programs do."""


class Odd(nn.Module):
    """A layer that does something which a graph does not hold."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.step, self.size = kind, 0, 0
        self.layer = nn.Linear(8, 8)
        self.random = numpy.random.default_rng(0)
        self.numbers = {"step": 0}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return getattr(self, self.kind)(self.layer(x))  # type: ignore[no-any-return]

    def nothing(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def reentrant(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.layer, x, use_reentrant=True)  # type: ignore[no-any-return]

    def tensor_hook(self, x: torch.Tensor) -> torch.Tensor:
        x.register_hook(lambda gradient: 0.1 * gradient)
        return x

    def inner_gradient(self, x: torch.Tensor) -> torch.Tensor:
        start = x.detach().requires_grad_()
        return torch.autograd.grad(self.layer(start).square().sum(), start, create_graph=True)[0]

    def inner_backward(self, x: torch.Tensor) -> torch.Tensor:
        self.layer(x.detach()).sum().backward()
        return x

    def python_random(self, x: torch.Tensor) -> torch.Tensor:
        if random.random() < 0.5:
            x = torch.relu(x)
        return x

    def numpy_random(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.from_numpy(numpy.random.rand(8).astype("float32"))

    def own_generator(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.from_numpy(self.random.random(8).astype("float32"))

    def counter(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x * min(1.0, self.step / 10)

    def counter_in_dictionary(self, x: torch.Tensor) -> torch.Tensor:
        self.numbers["step"] += 1
        return x * min(1.0, self.numbers["step"] / 10)

    def global_counter(self, x: torch.Tensor) -> torch.Tensor:
        COUNT[0] += 1
        return x * (COUNT[0] / 10)

    def clock(self, x: torch.Tensor) -> torch.Tensor:
        return x * time.perf_counter()

    def unkept_function(self, x: torch.Tensor) -> torch.Tensor:
        return Called.apply(x, torch.round)  # type: ignore[no-any-return, no-untyped-call]

    def dirty_function(self, x: torch.Tensor) -> torch.Tensor:
        return Packed.apply(x)  # type: ignore[no-any-return, no-untyped-call]

    def saved_tensors(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autograd.graph.saved_tensors_hooks(lambda saved: 0.5 * saved, lambda packed: packed):
            return x * x

    def node_hook(self, x: torch.Tensor) -> torch.Tensor:
        assert x.grad_fn is not None
        x.grad_fn.register_hook(lambda inputs, outputs: tuple(None if item is None else 2 * item for item in inputs))
        return x

    def inference(self, x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            bias = self.layer(x)
        return x + bias.clone()

    def compiling(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x if torch.compiler.is_compiling() else x

    def frozen(self, x: torch.Tensor) -> torch.Tensor:
        self.layer.weight.requires_grad_(False)
        return self.layer(x)  # type: ignore[no-any-return]

    def data(self, x: torch.Tensor) -> torch.Tensor:
        return x + (torch.round(x) - x).data

    def clipped_weights(self, x: torch.Tensor) -> torch.Tensor:
        self.layer.weight.data.clamp_(-0.1, 0.1)
        return self.layer(x)  # type: ignore[no-any-return]

    # ---- what a graph does hold
    def function(self, x: torch.Tensor) -> torch.Tensor:
        return rounded(x, 8.0)  # type: ignore[no-any-return]

    def reversal(self, x: torch.Tensor) -> torch.Tensor:
        one, other = Reversed.apply(x)  # type: ignore[no-untyped-call]
        return torch.relu(one) + other  # type: ignore[no-any-return]

    def checkpointed(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda y: nn.functional.dropout(self.layer(y).relu(), 0.3), x, use_reentrant=False)  # type: ignore[no-any-return]

    def dropout(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5) * torch.rand_like(x)

    def size_as_attribute(self, x: torch.Tensor) -> torch.Tensor:
        self.size = x.shape[1]
        return x * self.size

    def part_without_gradient(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = x.abs().mean()
        return x / scale


class Net(nn.Module):
    """Such a layer among others, in a forward that is no chain of modules."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.first, self.odd, self.last = nn.Linear(8, 8), Odd(kind), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.last(x + self.odd(x))  # type: ignore[no-any-return]


def chain(kind: str) -> nn.Module:
    """Return a model that only calls its children, one after another."""
    return nn.Sequential(nn.Linear(8, 8), Odd(kind), nn.Linear(8, 4))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets."""
    return torch.randn(4, 8), torch.randn(4, 4)


# ---- functions for `hackathon plan`
def built(model: nn.Module) -> dict[str, Any]:
    inputs, target = batch()
    return {"model": model, "args": (inputs, target), "loss": nn.functional.mse_loss}


def node_hook() -> dict[str, Any]:
    return built(Net("node_hook"))


def node_hook_chain() -> dict[str, Any]:
    return built(chain("node_hook"))


def checkpointed() -> dict[str, Any]:
    return built(Net("checkpointed"))


def keywords() -> dict[str, Any]:
    return {"model": Net("nothing"), "kwargs": {"x": batch()[0]}, "loss": lambda output: output.square().mean()}


def deep() -> dict[str, Any]:
    return built(nn.Sequential(*(nn.Linear(8, 8) for _ in range(int(os.environ.get("DEPTH", "1")))), nn.Linear(8, 4)))
