"""The batch of a step: its parts for model and loss, and its division into micro-batches."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from hackathon.text.errors import RequestError

TARGETS = ("target", "targets", "label", "labels")
"""Keys of a mapping for the target, if there is a loss."""
_SAMPLED = 1 << 20
"""Elements of a tensor that its checksum reads, at most."""

Inputs = tuple[tuple[Any, ...], dict[str, Any], Any]
"""Positional and keyword arguments of the model, and the target of the loss."""


def inputs_of(batch: Any, has_loss: bool) -> Inputs:
    """Return a batch's arguments for model and loss.

    With a loss: (inputs, target), or a mapping with a key in `TARGETS`. Without: everything is for the model. Inputs
    are a tensor, a tuple of positional arguments or a mapping of keyword arguments. Raises RequestError for other
    values.
    """
    if not has_loss:
        return (*_arguments(batch), None)
    if isinstance(batch, Mapping):
        keys = [key for key in TARGETS if key in batch]
        if len(keys) != 1:
            raise RequestError(
                "auto_parallel.no_target",
                "with loss=, a batch is (inputs, target), or a mapping with exactly one of the keys {names}",
                names=", ".join(TARGETS),
            )
        return (), {key: value for key, value in batch.items() if key != keys[0]}, batch[keys[0]]
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise RequestError(
            "auto_parallel.no_target",
            "with loss=, a batch is (inputs, target), or a mapping with exactly one of the keys {names}",
            names=", ".join(TARGETS),
        )
    return (*_arguments(batch[0]), batch[1])


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, (tuple, list)) else ((inputs,), {})


def samples_of(inputs: Inputs) -> int:
    """Return the number of samples: the first dimension of all tensors. Raises RequestError if it varies."""
    sizes = {tensor.shape[0] for tensor in _tensors(inputs) if tensor.dim()}
    if len(sizes) != 1:
        raise RequestError(
            "auto_parallel.uneven_inputs",
            "the tensors of a batch must have the samples as their first dimension; here the sizes are {sizes}",
            sizes=", ".join(map(str, sorted(sizes))) or "0",
        )
    return int(sizes.pop())


def pieces(inputs: Inputs, sizes: Sequence[int]) -> list[Inputs]:
    """Return consecutive parts with so many samples; non-tensors and tensors without dimensions go into each."""
    parts, start = [], 0
    for size in sizes:
        end = start + size

        def part(value: Any, start: int = start, end: int = end) -> Any:
            return value[start:end] if isinstance(value, torch.Tensor) and value.dim() else value

        parts.append(pytree.tree_map(part, inputs))
        start = end
    return parts


def even_pieces(inputs: Inputs, count: int) -> list[Inputs]:
    """Return so many micro-batches of one size. Raises RequestError if the samples are not divisible."""
    samples = samples_of(inputs)
    if samples % count:
        raise RequestError(
            "auto_parallel.indivisible",
            "{samples} samples cannot be divided into {micro_batches} micro-batches of one size",
            hint="Let the loader leave out the last incomplete batch (drop_last=True).",
            samples=samples,
            micro_batches=count,
        )
    return pieces(inputs, [samples // count] * count)


def signature(inputs: Inputs) -> tuple[Any, ...]:
    """Return the key of a graph: structure, shapes and types, and the values of non-tensors."""
    leaves, spec = pytree.tree_flatten(inputs)
    return (str(spec), *((tuple(e.shape), e.dtype) if isinstance(e, torch.Tensor) else e for e in leaves))


def leaves_of(inputs: Inputs, device: torch.device) -> list[Any]:
    """Return the leaves in the order of a graph's inputs, tensors on the device."""
    leaves = pytree.tree_flatten(inputs)[0]
    return [leaf.to(device, non_blocking=True) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def checksum(inputs: Inputs) -> int:
    """Return 20 bits that differ between most different batches."""
    crc = 0
    for tensor in _tensors(inputs):
        flat = tensor.detach().reshape(-1)
        flat = flat[:: max(1, flat.numel() // _SAMPLED)].contiguous().cpu()
        crc = zlib.crc32(flat.view(torch.uint8).numpy().tobytes(), crc)
    return crc & 0xFFFFF


def _tensors(inputs: Inputs) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_flatten(inputs)[0] if isinstance(leaf, torch.Tensor)]
