"""The work of one operator in a pass: kernels with their FLOP and bytes, and memory kept for the backward pass.

The operator runs on fake tensors, which have shapes and no data, so neither time nor memory is needed: a layer of a
model of 1 T parameters costs as much as a small one. Operators with equal inputs are analysed once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

PRECISIONS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16", torch.float64: "fp64"}
_Mode: Any = TorchDispatchMode
_COUNTER: Any = flop_counter
_FREE = ("empty", "empty_like", "empty_strided", "new_empty", "detach", "lift_fresh", "scalar_tensor")
"""Operators that move no data although their output is new."""
_LOOK_UPS = ("embedding", "gather", "index_select", "index")
"""Operators that read only the returned part of their first input."""


@dataclass(frozen=True)
class KernelWork:
    """One kernel: its floating-point operations, the bytes that it reads and writes, and its precision."""

    flops: float
    bytes: float
    precision: str


@dataclass(frozen=True)
class TensorFact:
    """The facts about a tensor before anything runs."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    gradient: bool
    """Whether a gradient flows to it."""

    @property
    def bytes(self) -> int:
        """The bytes of its elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count * self.dtype.itemsize

    def made(self, device: str) -> torch.Tensor:
        """Return a tensor like it on a device: numbers near 1, and the index 0, which every table has."""
        value: Any = self.dtype == torch.bool or (0.5 if self.dtype.is_floating_point or self.dtype.is_complex else 0)
        shape = [1 if step == 0 else size for size, step in zip(self.shape, self.stride, strict=True)]
        tensor = (
            torch.empty_strided(shape, self.stride, dtype=self.dtype, device=device).fill_(value).expand(self.shape)
        )
        if self.gradient:
            tensor = tensor.detach()
        return tensor.requires_grad_(self.gradient)


def fact_of(tensor: torch.Tensor, gradient: bool | None = None) -> TensorFact:
    """Return the facts about a tensor; `gradient` overrides its own."""
    return TensorFact(
        tuple(int(number) for number in tensor.shape), tuple(int(number) for number in tensor.stride()), tensor.dtype,
        bool(tensor.requires_grad) if gradient is None else gradient,
    )  # fmt: skip


@dataclass(frozen=True)
class OperatorPasses:
    """An operator's work in both passes; positions count the tensors among its inputs or outputs."""

    forward: tuple[KernelWork, ...]
    backward: tuple[KernelWork, ...]
    outputs: Any
    """A `TensorFact` for each tensor that it returns."""
    same: tuple[int | None, ...]
    """Per output: the input whose memory it shares."""
    kept_inputs: tuple[int, ...]
    kept_outputs: tuple[int, ...]
    kept_inside: float
    """Bytes that the operator keeps for its backward pass besides its inputs and outputs."""
    workspace: float
    """Peak bytes besides those that remain: temporaries, and gradients on their way."""


def with_facts(inputs: Any, make: Callable[[TensorFact], Any]) -> Any:
    """Return arguments with each `TensorFact` replaced by a tensor (or the result of `make`)."""
    return tree_map_only(TensorFact, make, inputs)


def placed(value: Any, device: str) -> Any:
    """Return arguments with every device of the model replaced by this one."""
    return tree_map_only(torch.device, lambda _: torch.device(device), value)


def facts_in(value: Any) -> list[TensorFact]:
    """Return the facts among arguments or outputs, in order."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, TensorFact)]


def call(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run an operator; one that changes its inputs gets copies, because parameters must not change in place."""
    if mutates(target):
        args, kwargs = tree_map_only(torch.Tensor, lambda tensor: tensor.clone(), (args, kwargs))
    return target(*args, **kwargs)


def mutates(target: Any) -> bool:
    """Return whether an operator changes one of its inputs."""
    schema = getattr(target, "_schema", None)
    return bool(schema is not None and schema.is_mutable)


def look(
    target: Any, args: Any, kwargs: Any, *, grad: bool = True, device: str = "cpu", real: bool = False,
    parameters: Sequence[torch.Tensor] = (),
) -> OperatorPasses:  # fmt: skip
    """Return an operator's work for inputs like these. Raises the operator's error on fake tensors.

    `args`, `kwargs`: a `TensorFact` for each tensor. `grad`: whether autograd is on there. `real`: on the CPU with
    data, for a module with these `parameters`.
    """
    with nullcontext() if real else FakeTensorMode(allow_non_fake_inputs=True), torch.set_grad_enabled(grad):
        made_args, made_kwargs = with_facts(placed((args, kwargs), device), lambda fact: fact.made(device))
        inputs = _tensors((made_args, made_kwargs))
        recorder = _Kernels([*inputs, *parameters])
        saved: list[torch.Tensor] = []

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            saved.append(tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), recorder:
            result = call(target, made_args, made_kwargs)
        outputs = _tensors(result)
        input_numbers = {_storage(tensor): number for number, tensor in reversed(list(enumerate(inputs)))}
        clones = recorder.copies if mutates(target) else {}
        input_numbers |= {copy: input_numbers[origin] for copy, origin in clones.items() if origin in input_numbers}
        forward, allocated = tuple(recorder.kernels), dict(recorder.made)
        if clones:
            forward = tuple(
                kernel for kernel, name in zip(recorder.kernels, recorder.names, strict=True) if name != "clone"
            )
        ours = {_storage(output): number for number, output in reversed(list(enumerate(outputs)))}
        own = {_storage(tensor) for tensor in parameters}
        marks = {_storage(tensor): tensor for tensor in saved if _storage(tensor) not in own}
        inside = {storage: size for storage, size in allocated.items() if storage in marks and storage not in ours}
        inside = {storage: size for storage, size in inside.items() if storage not in input_numbers}
        temporary = sum(
            size
            for storage, size in allocated.items()
            if storage not in inside and storage not in ours and storage not in input_numbers
        )
        backward: tuple[KernelWork, ...] = ()
        swept = 0.0
        flowing = [output for output in outputs if output.requires_grad and output.is_floating_point()]
        leaves = [tensor for tensor in (*inputs, *parameters) if tensor.requires_grad]
        if flowing and leaves:
            gradients = [torch.empty_like(output) for output in flowing]
            behind = _Kernels([*inputs, *parameters, *outputs, *saved, *gradients])
            with behind:
                torch.autograd.grad(flowing, leaves, gradients, allow_unused=True)
            backward = tuple(behind.kernels)
            if clones and backward and behind.names[-1] == "clone":
                backward = backward[:-1]
            swept = sum(behind.made.values()) + sum(_size(gradient) for gradient in gradients)
        return OperatorPasses(
            forward, backward, _facts(result), tuple(input_numbers.get(_storage(output)) for output in outputs),
            tuple(sorted({input_numbers[storage] for storage in marks if storage in input_numbers})),
            tuple(sorted({ours[storage] for storage in marks if storage in ours and storage not in input_numbers})),
            float(sum(inside.values())), float(max(temporary, swept)),
        )  # fmt: skip


class _Kernels(_Mode):  # type: ignore[misc]
    """Records the kernels below autograd."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self.kernels: list[KernelWork] = []
        self.names: list[str] = []
        self.made: dict[int, float] = {}
        """Storage → bytes, of allocated memory."""
        self.copies: dict[int, int] = {}
        """Storage of a clone → that of its origin."""
        self._held = [*tensors]  # keep the tensors alive, so that no storage address is reused
        self._known = {_storage(tensor) for tensor in self._held}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace == "prim":
            return result
        inputs, outputs = _tensors((args, kwargs)), _tensors(result)
        name = func.overloadpacket.__name__
        new = [output for output in outputs if _storage(output) not in self._known]
        for tensor in new:
            self.made[_storage(tensor)] = _size(tensor)
            self._known.add(_storage(tensor))
        self._held += new
        if name == "clone":
            self.copies[_storage(outputs[0])] = _storage(inputs[0])
        if name in _FREE or not (new or func._schema.is_mutable):
            return result  # a view
        moved = sum(_touched(output) for output in outputs)
        if name in _LOOK_UPS:
            moved += moved + sum(_touched(tensor) for tensor in inputs[1:])
        else:
            moved += sum(_touched(tensor) for tensor in {_storage(tensor): tensor for tensor in inputs}.values())
        self.kernels.append(
            KernelWork(_flops(func, args, kwargs or {}, result), moved, _precision([*inputs, *outputs]))
        )
        self.names.append(name)
        return result


def _flops(func: Any, args: Any, kwargs: Mapping[str, Any], result: Any) -> float:
    """Return the floating-point operations of matrix products and convolutions; other kernels are memory-bound."""
    count = _COUNTER.flop_registry.get(func.overloadpacket)
    name = func.overloadpacket.__name__
    if count is not None:
        return float(count(*args, **kwargs, out_val=result))
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        return float(_COUNTER.sdpa_flop_count(args[0].shape, args[1].shape, args[2].shape))
    if name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        return float(_COUNTER.sdpa_backward_flop_count(args[0].shape, args[1].shape, args[2].shape, args[3].shape))
    if name.startswith("mkldnn_rnn_layer"):
        steps = float(args[0].numel()) / int(args[0].shape[-1])
        products = 2 * steps * float(args[1].numel() + args[2].numel())
        return 2 * products if name.endswith("backward") else products
    return 0.0


def _precision(tensors: Iterable[torch.Tensor]) -> str:
    for tensor in tensors:
        if tensor.dtype in PRECISIONS:
            return PRECISIONS[tensor.dtype]
    return "fp32"


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def _facts(value: Any) -> Any:
    leaves, spec = tree_flatten(value)
    return tree_unflatten([fact_of(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec)


def _storage(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _size(tensor: torch.Tensor) -> float:
    return float(tensor.untyped_storage().nbytes())


def _touched(tensor: torch.Tensor) -> float:
    """Return the bytes of the elements; of an expanded tensor those that exist."""
    return float(min(tensor.numel() * tensor.dtype.itemsize, tensor.untyped_storage().nbytes()))
