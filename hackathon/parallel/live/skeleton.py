"""A copy of a model whose parameters have shapes but no numbers: it can be captured again and needs no memory."""

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

from hackathon.parallel.live.capture import Traced, aliases_of, named_state, traced_mode
from hackathon.parallel.live.split import moved


class Skeleton:
    """The copy of a model; the model itself may release its parameters afterwards."""

    def __init__(self, model: nn.Module, loss: Callable[..., Any] | None) -> None:
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._loss = loss
        self.aliases = aliases_of(model)
        memo: dict[int, Any] = {}
        for _, tensor in named_state(model):
            if id(tensor) not in memo:
                fake = self._like(tensor)
                parameter = isinstance(tensor, nn.Parameter)
                memo[id(tensor)] = nn.Parameter(fake, tensor.requires_grad) if parameter else fake
        self.model: nn.Module = copy.deepcopy(model, memo)

    def _like(self, tensor: torch.Tensor, device: torch.device | str = "cpu") -> torch.Tensor:
        with self._mode:
            return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)

    def trace(self, args: Sequence[Any], kwargs: Mapping[str, Any], target: Any, *, training: bool) -> Traced:
        """Return the graph for inputs of these shapes: in training of the loss, for evaluation of the output."""
        inputs = (tuple(args), dict(kwargs), target)
        fakes = pytree.tree_map(lambda leaf: self._like(leaf) if isinstance(leaf, torch.Tensor) else leaf, inputs)
        with self._mode:
            return traced_mode(self.model, fakes, self._loss, training=training)

    def flops(self, traced: Traced, leaves: Sequence[Any]) -> float:
        """Return the FLOP of a graph in a forward pass; those counted so far if an operator needs numbers to run."""
        fakes = [self._like(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        counter = FlopCounterMode(display=False)
        with contextlib.suppress(Exception), self._mode, counter:
            torch.fx.Interpreter(traced.module).run(*fakes)
        return float(counter.get_total_flops())

    def shapes(
        self, traced: Traced, leaves: Sequence[Any], dtype: torch.dtype, device: torch.device
    ) -> dict[str, torch.Tensor]:
        """Return shape and type of each result of a graph that runs on a device under autocast with this type."""
        recorded: dict[str, torch.Tensor] = {}
        like = self._like

        class Record(torch.fx.Interpreter):
            """Runs the graph without numbers."""

            def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
                value = super().get_attr(target, args, kwargs)
                return like(value, device) if isinstance(value, torch.Tensor) else value

            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_function(target, moved(args, device), moved(kwargs, device))

            def run_node(self, n: torch.fx.Node) -> Any:
                result = super().run_node(n)
                if isinstance(result, torch.Tensor):
                    recorded[n.name] = result
                return result

        fakes = [self._like(leaf, device) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        with self._mode, torch.autocast(device.type, dtype):
            Record(traced.module).run(*fakes)
        return recorded
