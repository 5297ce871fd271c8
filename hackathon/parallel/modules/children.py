"""The modules of one stage of a chain, run as the user wrote them, and their output for the next stage."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from hackathon.parallel.live import seeds
from hackathon.parallel.live.capture import loss_in
from hackathon.parallel.live.split import strides_on_the_way
from hackathon.text.errors import RequestError

_CONSTANTS = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class TensorForm:
    """The fixed properties of a tensor."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class Handed:
    """The output of a stage or of the model: its structure, and for each leaf a form or a constant."""

    spec: pytree.TreeSpec
    leaves: tuple[Any, ...]

    @classmethod
    def of(cls, value: Any, module: str, *, constants: bool) -> "Handed":
        """Return the form of a value that `module` returns.

        Raises RequestError for values that other ranks cannot get.
        """
        leaves, spec = pytree.tree_flatten(value)
        for leaf in leaves:
            if not isinstance(leaf, (torch.Tensor, *_CONSTANTS) if constants else torch.Tensor):
                raise RequestError(
                    "auto_parallel.handed_on",
                    "module {module} returns {kind}, which cannot go to another stage: only tensors can, alone "
                    "or in tuples, lists and dictionaries",
                    hint="Make a plan that does not cut behind this module.",
                    module=module,
                    kind=type(leaf).__name__,
                )
        forms = (
            TensorForm(tuple(leaf.shape), strides_on_the_way(leaf), leaf.dtype)
            if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves
        )  # fmt: skip
        return cls(spec, tuple(forms))

    def is_like(self, leaves: Sequence[Any], spec: pytree.TreeSpec) -> bool:
        """Return whether another value has this structure, and tensors of these shapes and types."""
        return spec == self.spec and all(
            isinstance(leaf, torch.Tensor) and (tuple(leaf.shape), leaf.dtype) == (form.shape, form.dtype)
            for leaf, form in zip(leaves, self.leaves, strict=True) if isinstance(form, TensorForm)
        )  # fmt: skip


class _Entry(torch.autograd.Function):
    """Makes the input of a stage's first module a non-leaf, so that the module may change it as in the whole model."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, content: torch.Tensor) -> torch.Tensor:
        """Return `content`, with its gradient for `leaf`."""
        ctx.mark_dirty(content)
        return content

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the gradient of the leaf."""
        return gradients[0], None


def entered(tensor: torch.Tensor, *, copied: bool) -> torch.Tensor:
    """Return a tensor that the modules may change in place; `copied`: its numbers are needed afterwards."""
    if not (tensor.requires_grad and torch.is_grad_enabled()):
        return tensor.clone() if copied else tensor
    content = tensor.data.clone() if copied else tensor.data
    return _Entry.apply(tensor, content)  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True)
class ModuleRange:
    """Consecutive modules of a chain: their positions in it, their paths, and the loss if it is among them."""

    numbers: tuple[int, ...]
    paths: tuple[str, ...]
    modules: tuple[nn.Module, ...]
    ends: bool
    """Whether the whole chain ends here."""
    loss: Callable[..., Any] | None

    def run(self, value: Any, target: Any, *, training: bool, report: Callable[[str], None] | None = None) -> Any:
        """Return the result: at the end of the chain the loss in training, else the model's output.

        Each module draws random numbers of its own, which depend on its position and not on the stages. `report` gets
        the path of each module before it runs.
        """
        with seeds.programs_numbers_kept():
            for number, path, module in zip(self.numbers, self.paths, self.modules, strict=True):
                if report is not None:
                    report(path)
                seeds.seed_module(number)
                value = module(value)
            if not (self.ends and training):
                return value
            if self.loss is None:
                return loss_in(value)
            seeds.seed_module(-1)
            return self.loss(value) if target is None else self.loss(value, target)


class Children(nn.Module):
    """A stage of a chain in the runtime's form: flat inputs and received tensors in, flat tensors out."""

    def __init__(
        self, stretch: ModuleRange, value: pytree.TreeSpec, target: pytree.TreeSpec, handed: Handed, *, starts: bool,
        training: bool, copied: bool,
    ) -> None:  # fmt: skip
        """`value`, `target`: structures of the input; `starts`: whether the chain starts here.

        `copied`: see `entered`.
        """
        super().__init__()
        self.inside = nn.ModuleList(stretch.modules)
        self.__dict__["stretch"] = stretch
        self._value, self._target, self._handed = value, target, handed
        self._starts, self._training, self._copied = starts, training, copied

    def forward(self, *values: Any) -> tuple[torch.Tensor, ...]:
        """Return the tensors for the next stage. Raises RequestError if they differ in form from the example's."""
        stretch: ModuleRange = self.__dict__["stretch"]
        if self._starts:
            count = self._value.num_leaves
            received, targets = values[:count], values[count:]
        else:
            count = self._target.num_leaves if len(values) > self._value.num_leaves else 0
            targets, received = values[:count], values[count:]
        leaves = [entered(leaf, copied=self._copied) if isinstance(leaf, torch.Tensor) else leaf for leaf in received]
        target = pytree.tree_unflatten(list(targets), self._target) if targets else None
        with contextlib.nullcontext() if self._training else evaluating(self.inside):
            output = stretch.run(pytree.tree_unflatten(leaves, self._value), target, training=self._training)
        results, spec = pytree.tree_flatten(output)
        if not self._handed.is_like(results, spec):
            raise RequestError(
                "auto_parallel.handed_changes",
                "what module {module} returns has another structure, shape or type than for the example",
                module=stretch.paths[-1] if stretch.paths else "loss",
            )
        return tuple(leaf for leaf in results if isinstance(leaf, torch.Tensor))

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Restore the current content of all buffers afterwards, including replaced ones."""
        before = [
            (module, name, buffer, buffer.clone())
            for module in self.inside.modules() for name, buffer in module._buffers.items() if buffer is not None
        ]  # fmt: skip
        try:
            yield
        finally:
            for module, name, tensor, old in before:
                module._buffers[name] = tensor
                tensor.data.copy_(old)  # through .data: autograd may have saved the buffer


@contextlib.contextmanager
def evaluating(modules: nn.ModuleList) -> Iterator[None]:
    """Put modules into evaluation mode, and restore each one's own mode afterwards."""
    before = [(module, module.training) for module in modules.modules()]
    modules.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
