"""The self-check: one micro-batch of the model and of its captured graph must give the same gradients."""

import contextlib
import copy
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from hackathon.parallel.description.built import Built, Capture
from hackathon.parallel.description.measure import free_memory
from hackathon.parallel.description.refusal import CaptureRefusal, refusal_of, shortened
from hackathon.parallel.fidelity.watch import plain_checkpoints
from hackathon.parallel.live import seeds
from hackathon.parallel.live.capture import Traced, Whole, named_state, refuse_other_graph
from hackathon.parallel.live.split import split
from hackathon.parallel.live.stage import bind
from hackathon.text.messages import Message

_UNCHECKED_TEXTS = {
    "memory": Message(
        "capture.unchecked_memory",
        "Warning: the self-check was not run. It needs {needed} GB, and {free} GB are free. Run it with a smaller "
        "configuration of the model.",
    ),
    "time": Message(
        "capture.unchecked_time",
        "Warning: the self-check was not run: it would take {seconds} s, more than {longest} s. Run it with a "
        "smaller configuration of the model.",
    ),
    "meta": Message(
        "capture.unchecked_meta",
        "Warning: the self-check was not run: the model is on the meta device, without numbers. Run it with a "
        "smaller configuration that has some.",
    ),
    "failed": Message(
        "capture.unchecked_failed",
        "Warning: the self-check was not run: the model itself failed with the example: {words}",
    ),
    "off": Message("capture.unchecked_off", "Warning: the self-check was not run: it is turned off."),
}

LONGEST = 60.0
"""Most seconds of a check; time that other programs take on the machine does not count."""
FLOPS = {"cuda": 1e13, "cpu": 5e10}
"""FLOP/s that a device reaches at least, for the estimated duration of a check."""
TOLERANCES = {torch.float64: (1e-9, 1e-12), torch.float32: (1e-4, 1e-6)}
"""Type → allowed difference, relative to the largest number of the same gradient and of all gradients."""
ROUGH = (5e-2, 1e-3)
"""The same for types of at most 16 bits, and for autocast."""


@dataclass(frozen=True)
class SelfCheck:
    """The outcome of a self-check: no difference, or not run."""

    gradients: int = 0
    """Number of compared gradients."""
    why_not: str | None = None
    """Why it did not run: memory, time, meta, failed or off."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Values for the reason's message."""

    @property
    def sentence(self) -> tuple[str, dict[str, Any]]:
        """Id and values of the message about the outcome."""
        if self.why_not is None:
            return Message(
                "capture.checked",
                "Self-check: the loss and {count} gradients of the captured graph are those of the model.",
            ), {"count": self.gradients}
        return _UNCHECKED_TEXTS[self.why_not], dict(self.values)

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> "SelfCheck | None":
        """Return the check that a plan records, or None."""
        return None if value is None else cls(value["gradients"], value["why_not"], value["values"])

    def as_json(self) -> dict[str, Any]:
        """Return the JSON value that a plan records."""
        return {"run": self.why_not is None, **self.__dict__}


def self_check(
    capture: Capture, numbers: Callable[[], Built], *, device: torch.device, precision: torch.dtype | None = None,
    longest: float = LONGEST,
) -> SelfCheck:  # fmt: skip
    """Compare a model with its training graph: loss, gradients, buffers, and a second capture.

    `numbers` returns the model with its numbers, as it may have been captured without; that model does not change. A
    check that needs more memory than is free, or more than `longest` seconds, does not run. Raises CaptureRefusal for
    the first difference, with module, file and line.
    """
    began, skeleton, traced = time.thread_time(), capture.skeleton, capture.traced
    needed = 3.0 * _bytes(tensor for _, tensor in named_state(skeleton.model)) + activations(traced)
    free = free_memory(str(device))
    too_large = SelfCheck(why_not="memory", values={"needed": f"{needed / 1e9:.3g}", "free": f"{free / 1e9:.3g}"})
    if needed > free:
        return too_large
    expected = 2 * 3 * skeleton.flops(traced, pytree.tree_leaves(capture.inputs)) / FLOPS.get(device.type, FLOPS["cpu"])
    if expected > longest:
        return _too_slow(expected, longest)
    with seeds.programs_numbers_kept(), _moment_kept():
        _capture_again(capture)
        try:
            built = numbers()
            if any(tensor.is_meta for _, tensor in named_state(built.model)):
                return SelfCheck(why_not="meta")
            passes = _Passes(built, device, precision)
            plain = passes.run(passes.model)
        except torch.OutOfMemoryError:
            return too_large
        except Exception as error:
            return SelfCheck(why_not="failed", values={"words": shortened(error)})
        if (took := time.thread_time() - began) > longest:
            return _too_slow(2 * took, longest)
        try:
            captured = passes.run(passes.graph(traced))
        except torch.OutOfMemoryError:
            return too_large
        except Exception as error:
            raise refusal_of(error, skeleton.model) from error
    _compare(plain, captured, traced, skeleton.model, precision)
    return SelfCheck(len(plain.gradients))


def _too_slow(seconds: float, longest: float) -> SelfCheck:
    return SelfCheck(why_not="time", values={"seconds": f"{seconds:.0f}", "longest": f"{longest:.0f}"})


def activations(traced: Traced) -> float:
    """Return the bytes of all results of a graph; results in the same memory count once."""
    sizes: dict[int, int] = {}
    for node in traced.module.graph.nodes:
        if node.op == "call_function":
            for tensor in pytree.tree_leaves(node.meta.get("val")):
                if isinstance(tensor, torch.Tensor):
                    with contextlib.suppress(NotImplementedError):  # a tensor of torch.func
                        storage = tensor.untyped_storage()
                        sizes[storage._cdata] = storage.nbytes()
    return float(sum(sizes.values()))


def _bytes(tensors: Iterator[torch.Tensor]) -> float:
    return float(sum({id(tensor): tensor.numel() * tensor.element_size() for tensor in tensors}.values()))


def _capture_again(capture: Capture) -> None:
    """Refuse a model whose graph changes in a later step, with other random numbers of Python and NumPy."""
    random.seed(1)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1)
    try:
        other = capture.skeleton.trace(*capture.inputs, training=True)
    except CaptureRefusal:
        raise
    except Exception:  # it cannot be captured twice: a tensor of the first capture prevents it
        return
    refuse_other_graph(capture.traced, other, capture.skeleton.model)


@contextlib.contextmanager
def _moment_kept() -> Iterator[None]:
    before = (seeds.Moment.seed, seeds.Moment.step, seeds.Moment.micro_batch)
    try:
        yield
    finally:
        seeds.Moment.seed, seeds.Moment.step, seeds.Moment.micro_batch = before


class _SeededOperators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Seeds the generators before each operator that draws random numbers: both sides draw the same ones."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.count += 1
            seeds.seed_operator(self.count)
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class _Result:
    """The results of a pass."""

    loss: torch.Tensor
    gradients: Mapping[str, torch.Tensor | None]
    state: Mapping[str, torch.Tensor]
    """Buffers, and the parameters that the pass itself changed."""


class _Passes:
    """A copy of a model on a device, which runs forward and backward passes, each from the same state."""

    def __init__(self, built: Built, device: torch.device, precision: torch.dtype | None) -> None:
        self._device, self._precision, self._original = device, precision, built.model
        self._leaves, self._spec = pytree.tree_flatten(built.inputs)
        own, loss = copy.deepcopy(built.model).to(device), built.loss
        if not own.training:
            own.train()
        if isinstance(loss, nn.Module):
            loss = copy.deepcopy(loss).to(device)
        self._own, self._whole = own, Whole(own, loss, True)
        self._buffers: dict[str, torch.Tensor] | None = None
        self._parameters = dict(own.named_parameters(remove_duplicate=False))
        self._trained = {name: tensor for name, tensor in self._parameters.items() if tensor.requires_grad}

    def model(self, leaves: list[Any]) -> torch.Tensor:
        """Return the loss of the original model."""
        return self._whole(*pytree.tree_unflatten(leaves, self._spec))  # type: ignore[no-any-return]

    def graph(self, traced: Traced) -> Callable[[list[Any]], torch.Tensor]:
        """Return a function that computes the loss of the captured graph, with the buffers of the start."""
        (part,) = split(traced, dict.fromkeys(traced.operators, 0), stages=1, device=self._device)
        self._buffers = {
            name: tensor.detach().to(self._device, copy=True)
            for name, tensor in self._original.named_buffers(remove_duplicate=False)
        }
        for tensor in self._trained.values():
            tensor.requires_grad_()  # the model may have frozen it
        bind(part, {**self._parameters, **self._buffers}, self._device)
        return lambda leaves: part.module(*(leaves[at] for at in part.inputs))[0]

    def run(self, call: Callable[[list[Any]], torch.Tensor]) -> _Result:
        """Return the results of a forward and a backward pass."""
        leaves = [
            tensor.detach().to(self._device, copy=True) if isinstance(tensor, torch.Tensor) else tensor
            for tensor in self._leaves
        ]
        seeds.Moment.seed = seeds.Moment.step = seeds.Moment.micro_batch = 0
        seeds.seed_module(0)
        autocast = (
            contextlib.nullcontext() if self._precision is None else torch.autocast(self._device.type, self._precision)
        )
        with _SeededOperators(), plain_checkpoints():  # type: ignore[no-untyped-call]
            with autocast:
                loss = call(leaves)
            if loss.requires_grad:
                torch.autograd.backward(loss)
        state = self._buffers if self._buffers is not None else dict(self._own.named_buffers(remove_duplicate=False))
        gradients = {name: tensor.grad for name, tensor in self._trained.items()}
        for tensor in self._trained.values():
            tensor.grad = None
        return _Result(loss.detach(), gradients, {**state, **self._restored()})

    @torch.no_grad()
    def _restored(self) -> dict[str, torch.Tensor]:
        """Return the parameters that a pass changed, and reset each."""
        sizes = {}
        for name, original in self._original.named_parameters(remove_duplicate=False):
            own, before = self._parameters[name], original.to(self._device)
            if not torch.equal(own, before):
                sizes[name] = own.detach().clone()
                own.data.copy_(before)
        return sizes


def _compare(
    plain: _Result, captured: _Result, traced: Traced, model: nn.Module, precision: torch.dtype | None
) -> None:
    """Raise CaptureRefusal for a difference: the gradient that is nearest to the loss, the loss, or other state."""
    sizes = [float(tensor.abs().max()) for tensor in plain.gradients.values() if tensor is not None and tensor.numel()]
    largest = max(sizes, default=0.0)
    readers = {name: operator for operator, names in traced.reads.items() for name in names}
    position = {name: at for at, name in enumerate(traced.operators)}
    wrong = [name for name, gradient in plain.gradients.items()
             if _differ(gradient, captured.gradients[name], largest, precision)]  # fmt: skip
    if wrong:
        name = max(wrong, key=lambda parameter: position.get(readers.get(parameter, ""), -1))
        expected, actual = plain.gradients[name], captured.gradients[name]
        values = {"name": name, "plain": _size(expected), "captured": _size(actual), "words": f"gradient of {name}"}
        raise CaptureRefusal(
            Message(
                "capture.other_gradient",
                "{path}:{line}: module {module}: the self-check found another gradient of {name} in the captured "
                "graph ({captured}) than in the model ({plain})",
                hint="What the module does with gradients behind this line is not in the graph. A model that only "
                "calls "
                "its children one after another, such as nn.Sequential, is planned by its children instead, which "
                "run as they are.",
            ),
            **_where(name, readers, traced, model),
            **values,
        )
    if _differ(plain.loss, captured.loss, 0.0, precision):
        values = {"plain": f"{float(plain.loss):.6g}", "captured": f"{float(captured.loss):.6g}", "words": "loss"}
        raise CaptureRefusal(
            Message(
                "capture.other_loss",
                "{path}:{line}: module {module}: the self-check found another loss in the captured graph "
                "({captured}) than in the model ({plain})",
                hint="Code that behaves otherwise while it is captured (torch.compiler.is_compiling(), say) is a usual "
                "cause.",
            ),
            **traced.location(traced.operators[-1], model),
            **values,
        )
    for name in {**plain.state, **captured.state}:
        expected, actual = plain.state.get(name), captured.state.get(name)
        if _differ(expected, actual, 0.0, precision):
            values = {"plain": _size(expected), "captured": _size(actual), "words": f"change of {name}"}
            raise CaptureRefusal(
                Message(
                    "capture.other_state",
                    "{path}:{line}: module {module}: the self-check found another {name} after a pass of the "
                    "captured graph ({captured}) than of the model ({plain})",
                    hint="Change buffers in place by operators of torch, and parameters outside `forward`.",
                ),
                name=name,
                **_where(name, readers, traced, model),
                **values,
            )


def _where(name: str, readers: Mapping[str, str], traced: Traced, model: nn.Module) -> dict[str, str]:
    """Return module, file and line that read a parameter or buffer; the last operator's if none does."""
    return traced.location(readers[name], model) if name in readers else traced.location(traced.operators[-1], model)


def _differ(
    expected: torch.Tensor | None, actual: torch.Tensor | None, largest: float, precision: torch.dtype | None
) -> bool:  # fmt: skip
    """Return whether two tensors differ by more than rounding; None differs from zeros."""
    if expected is None or actual is None:
        return expected is not actual
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return True
    if expected.is_sparse or not expected.numel():
        return False
    if not (expected.is_floating_point() or expected.is_complex()):
        return not torch.equal(expected, actual)
    relative, floor = TOLERANCES.get(expected.dtype, ROUGH) if precision is None else ROUGH
    expected, actual = (
        tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64) for tensor in (expected, actual)
    )
    finite = expected.isfinite()
    if not torch.equal(finite, actual.isfinite()):
        return True
    expected, actual = expected[finite], actual[finite]
    if not expected.numel():
        return False
    limit = relative * float(expected.abs().max()) + floor * largest
    return float((expected - actual).abs().max()) > limit


def _size(tensor: torch.Tensor | None) -> str:
    """Return the norm of a tensor as text for users."""
    return "None" if tensor is None else f"norm {float(tensor.detach().double().norm()):.4g}"
