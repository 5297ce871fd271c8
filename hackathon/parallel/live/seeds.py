"""Random numbers that depend on step, micro-batch and operator, but not on the partition of the model.

Before each operator that draws random numbers the generators are seeded. A recomputed stage draws the same numbers.
"""

import contextlib
import random
import sys
from collections.abc import Iterator

import torch
from torch import fx

_MASK = (1 << 64) - 1
_DROPOUT = {"aten.dropout.default": (1, 2), "aten.dropout_.default": (1, 2), "aten.alpha_dropout.default": (1, 2),
            "aten.feature_dropout.default": (1, 2), "aten.scaled_dot_product_attention.default": (4, None)}  # fmt: skip
"""Operator → positions of its probability and of its flag for training."""


class Moment:
    """The current seed, step and micro-batch of this process's operators."""

    seed = 0
    step = 0
    micro_batch = 0


def mixed(*numbers: int) -> int:
    """Return 63 bits that depend on all numbers and their order (SplitMix64)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state >> 1


def seed_operator(number: int) -> None:
    """Seed the generators for the `number`-th operator that draws random numbers."""
    torch.manual_seed(mixed(Moment.seed, Moment.step, Moment.micro_batch, number))


def seed_module(number: int) -> None:
    """Seed the generators of torch, Python and NumPy for the module at a position in a chain; -1: for its loss."""
    seed = mixed(Moment.seed, Moment.step, Moment.micro_batch, number)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed takes 80 µs, for devices that this rank does not use
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed & 0xFFFFFFFF)


@contextlib.contextmanager
def programs_numbers_kept() -> Iterator[None]:
    """Restore the program's random state of torch, Python and NumPy afterwards."""
    python = random.getstate()
    numpy = sys.modules["numpy"].random.get_state() if "numpy" in sys.modules else None
    try:
        with own_random_numbers(True):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            sys.modules["numpy"].random.set_state(numpy)


@contextlib.contextmanager
def own_random_numbers(active: bool) -> Iterator[None]:
    """Restore the program's own random state afterwards: data are shuffled as without the pipeline."""
    if not active:
        yield
        return
    with torch.random.fork_rng(devices=_cuda_devices()):
        yield


def _cuda_devices() -> list[int]:
    return [torch.cuda.current_device()] if torch.cuda.is_available() else []


def draws(node: fx.Node, module: torch.nn.Module) -> bool:
    """Return whether an operator, or its part of a graph, draws random numbers."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return torch.Tag.nondeterministic_seeded in target.tags and not _is_off(node)
    inner = [getattr(module, str(source.target), None) for source in node.all_input_nodes if source.op == "get_attr"]
    return any(
        draws(operator, part) for part in inner if isinstance(part, fx.GraphModule) for operator in part.graph.nodes
        if operator.op == "call_function"
    )  # fmt: skip


def _is_off(node: fx.Node) -> bool:
    positions = _DROPOUT.get(str(node.target))
    if positions is None:
        return False
    probability, training = positions
    chance = node.args[probability] if probability < len(node.args) else node.kwargs.get("dropout_p", 0.0)
    off = training is not None and training < len(node.args) and node.args[training] is False
    return bool(off or chance == 0)
