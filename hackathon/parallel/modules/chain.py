"""A model as a chain of modules, for one that cannot be captured: each runs as the user wrote it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from torch import nn

from hackathon.parallel.live.capture import named_state
from hackathon.parallel.live.split import SplitError
from hackathon.parallel.modules.forward import steps_of


def chain_of(model: nn.Module, prefix: str = "") -> list[tuple[str, nn.Module]]:
    """Return the modules that a model calls one after another, with their paths; [] if that is not certain.

    A module that occurs twice is listed twice. Children that are such chains themselves are resolved.
    """
    chain: list[tuple[str, nn.Module]] = []
    for name, child in steps_of(model):
        path = f"{prefix}{name}"
        chain += chain_of(child, f"{path}.") or [(path, child)]
    return chain


@dataclass(frozen=True)
class ModuleChain:
    """The modules of a model in the order of their calls; the loss comes last."""

    paths: tuple[str, ...]
    modules: tuple[nn.Module, ...]
    has_loss: bool
    """Whether a loss outside the model is called with the output."""

    @classmethod
    def of(cls, model: nn.Module, loss: Callable[..., Any] | None) -> "ModuleChain | None":
        """Return the chain of a model, None if it is not one."""
        chain = chain_of(model)
        paths, modules = tuple(path for path, _ in chain), tuple(module for _, module in chain)
        return cls(paths, modules, loss is not None) if chain else None

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """Names as in a plan: paths of modules, and that of the loss. A path's second occurrence is `path:2`."""
        counts: dict[str, int] = {}
        names = []
        for path in (*self.paths, "loss") if self.has_loss else self.paths:
            counts[path] = counts.get(path, 0) + 1
            names.append(path if counts[path] == 1 else f"{path}:{counts[path]}")
        return tuple(names)

    @cached_property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        """Operator → the user's names of the parameters and buffers in it."""
        return {
            operator: tuple(f"{path}.{name}" for name, _ in named_state(module))
            for operator, path, module in zip(self.operators, self.paths, self.modules, strict=False)
        }  # fmt: skip

    def is_meant_by(self, names: Iterable[str]) -> bool:
        """Return whether a plan with these operators cuts between modules: most paths cannot be names of operators."""
        operators = set(names)
        return operators == set(self.operators) or not all(name.isidentifier() for name in operators)

    def check(self, stage_of: Mapping[str, int]) -> None:
        """Raise SplitError unless each module is in one stage, and not in an earlier one than the module before it."""
        for name in stage_of:
            if name not in self.operators:
                raise SplitError("unknown", name)
        for name in self.operators:
            if name not in stage_of:
                raise SplitError("missing", name)
        for before, after in pairwise(self.operators):
            if stage_of[before] > stage_of[after]:
                raise SplitError("backwards", before, after)
