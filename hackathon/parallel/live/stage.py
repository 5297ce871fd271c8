"""One stage on one rank: its passes over micro-batches, and its state between forward and backward."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from hackathon.parallel.live import seeds
from hackathon.parallel.live.split import StagePart
from hackathon.parallel.live.weight_gradients import DeferredWeights
from hackathon.parallel.modules.children import Children


@dataclass
class _Held:
    """A micro-batch between its forward and its backward pass."""

    inputs: list[Any]
    received: list[torch.Tensor]
    outputs: list[torch.Tensor] = field(default_factory=list)
    rest: DeferredWeights | None = None


class RankStage:
    """Runs one stage. With `recompute` it stores only its received tensors, and runs forward again before backward."""

    def __init__(
        self, part: StagePart, device: torch.device, *, recompute: bool = False, precision: torch.dtype | None = None,
        compiler: str | None = None, module: torch.nn.Module | None = None,
    ) -> None:  # fmt: skip
        """`module`: runs a pass instead of the module of the part."""
        self.part, self.device, self.recompute, self.precision = part, device, recompute, precision
        run = module or part.module
        self._run: Any = torch.compile(run, backend=compiler, fullgraph=True) if compiler else run
        self._held: dict[int, _Held] = {}
        self.most_held = 0
        """Highest number of micro-batches between their forward and their backward pass at once."""

    @property
    def held(self) -> int:
        """Number of micro-batches between their forward and their backward pass."""
        return len(self._held)

    def forward(self, micro_batch: int, inputs: Sequence[Any], received: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return the stage's sent tensors, then its results, without their graph."""
        for value, tensor in zip(self.part.receives, received, strict=True):
            tensor.requires_grad_(value.gradient)
        state = _Held(list(inputs), list(received))
        outputs = self._pass(micro_batch, state)
        if not self.recompute:
            state.outputs = outputs
        self._held[micro_batch] = state
        self.most_held = max(self.most_held, len(self._held))
        return [output.detach() for output in outputs]

    def backward(self, micro_batch: int, gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Return the gradients of the received tensors, from those of the sent ones and of the results."""
        state = self._held.pop(micro_batch)
        outputs, output_gradients = self._pairs(micro_batch, state, gradients)
        if outputs:
            torch.autograd.backward(outputs, output_gradients)
        return [tensor.grad for tensor in state.received]

    def backward_input(self, micro_batch: int, gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Like `backward`, but leave the gradients of parameters to `backward_weight`."""
        state = self._held[micro_batch]
        outputs, output_gradients = self._pairs(micro_batch, state, gradients)
        state.rest = DeferredWeights(
            outputs, output_gradients, [tensor for tensor in state.received if tensor.requires_grad]
        )
        return [tensor.grad for tensor in state.received]

    def backward_weight(self, micro_batch: int) -> None:
        """Add the gradients of parameters, after `backward_input`."""
        weights = self._held.pop(micro_batch).rest
        assert weights is not None
        weights.run()

    def _pairs(
        self, micro_batch: int, state: _Held, gradients: Sequence[torch.Tensor | None]
    ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return the outputs with a gradient, and the gradients; the micro-batch releases its outputs."""
        if self.recompute:
            with self._unchanged():
                state.outputs = self._pass(micro_batch, state)
        outputs, state.outputs = state.outputs, []
        pairs = [
            (out, gradient) for out, gradient in zip(outputs, gradients, strict=True)
            if gradient is not None and out.requires_grad
        ]  # fmt: skip
        return [out for out, _ in pairs], [gradient for _, gradient in pairs]

    @torch.no_grad()
    def infer(
        self, micro_batch: int, part: StagePart, inputs: Sequence[Any], received: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return the sent tensors of an evaluation's stage, then its results."""
        seeds.Moment.micro_batch = micro_batch
        with seeds.own_random_numbers(part.draws), self._precision():
            return list(part.module(*inputs, *received))

    def _pass(self, micro_batch: int, state: _Held) -> list[torch.Tensor]:
        seeds.Moment.micro_batch = micro_batch
        with seeds.own_random_numbers(self.part.draws), self._precision():
            return list(self._run(*state.inputs, *state.received))

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        if self.precision is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.precision)

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Restore the current buffers afterwards: a repeated pass must not count twice in their statistics."""
        if isinstance(self.part.module, Children):
            with self.part.module.unchanged():
                yield
            return
        buffers = [self.part.module.get_buffer(name) for name in self.part.changed]
        before = [buffer.clone() for buffer in buffers]
        try:
            yield
        finally:
            for buffer, old in zip(buffers, before, strict=True):
                buffer.data.copy_(old)  # through .data: autograd may have saved the buffer


def bind(part: StagePart, tensors: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Put parameters and buffers into a stage, by the names in its graph; move its constants."""
    for name in part.state:
        path, _, leaf = name.rpartition(".")
        owner = part.module.get_submodule(path)
        tensor = tensors.get(name)
        setattr(owner, leaf, getattr(owner, leaf).to(device) if tensor is None else tensor)
