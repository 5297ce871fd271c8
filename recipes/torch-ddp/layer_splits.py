# Copy of recipes/shared/layer_splits.py, written by `make recipes`; edit it there.
"""Convolutions computed in parts of their batch where that is faster, as `hackathon microbatch --layers` measured it.

`micro_batches.py` calls it: HACKATHON_MEASURE_LAYERS=1 measures the kernels of all convolutions once, and
HACKATHON_LAYER_SPLITS='{"features.0": [16, 16]}' computes the layer `features.0` in two parts. The result is the same
but for rounding: a convolution treats each sample alone (Oyama et al., CLUSTER 2018).
"""

import copy
import json
import os
import time
import warnings
from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
from torch import nn

VARIABLE, MEASURE, REPORT = "HACKATHON_LAYER_SPLITS", "HACKATHON_MEASURE_LAYERS", "layers.json"
ROUNDS = 5
"""How often each kernel is measured; sizes take turns, so that other work on the machine meets all of them alike."""


class LayerShapes:
    """Remembers what the convolutions of a model get, while it is used as a context."""

    def __init__(self, model: nn.Module) -> None:
        self.seen: dict[str, torch.Tensor] = {}
        self._layers = convolutions(model)
        self._hooks: list[Any] = []

    def __enter__(self) -> "LayerShapes":
        for name, layer in self._layers.items():
            self._hooks.append(layer.register_forward_pre_hook(self._keeper(name)))
        return self

    def __exit__(self, *error: object) -> None:
        for each in self._hooks:
            each.remove()

    def _keeper(self, name: str) -> Any:
        def keep(layer: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            self.seen.setdefault(name, torch.empty_like(inputs[0]))  # shape, type, device and memory format

        return keep

    def measured(self) -> dict[str, dict[str, Any]]:
        """Return name → batch, and for some sizes the seconds and the workspace of forward and backward."""
        return {
            name: {"batch": len(each), "kernels": kernels(self._layers[name], each)} for name, each in self.seen.items()
        }


def convolutions(model: nn.Module) -> dict[str, nn.Module]:
    """Return name → layer of all convolutions."""
    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    return {name or "model": each for name, each in model.named_modules() if isinstance(each, kinds)}


def sizes_to_measure(batch: int) -> list[int]:
    """Return the batch and its halves, the smallest first."""
    found = []
    while batch >= 1:
        found.append(batch)
        batch = batch // 2
    return sorted(set(found))


def kernels(layer: nn.Module, example: torch.Tensor) -> dict[str, list[float]]:
    """Return size → [seconds, bytes of workspace] of a convolution for parts of a batch like `example`, medians.

    The workspace is what a GPU's memory rises by beyond what the tensors take; on a CPU no kernel has one that counts.
    """
    layer = copy.deepcopy(layer)
    example = torch.randn_like(example)
    times: dict[int, list[float]] = {size: [] for size in sizes_to_measure(len(example))}
    spaces = dict.fromkeys(times, 0)
    for number in range(ROUNDS + 1):
        for size in times:
            seconds, space = _once(layer, example[:size])
            if number:  # the first round chooses algorithms
                times[size].append(seconds)
                spaces[size] = max(spaces[size], space)
    return {str(size): [median(each), spaces[size]] for size, each in times.items()}


def _once(layer: nn.Module, part: torch.Tensor) -> tuple[float, int]:
    gpu = part.is_cuda
    part = part.detach().requires_grad_()
    layer.zero_grad(set_to_none=False)
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    begin = time.perf_counter()
    output = layer(part)
    output.backward(torch.ones_like(output))
    if not gpu:
        return time.perf_counter() - begin, 0
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    tensors = 2 * output.nbytes + 2 * part.nbytes
    return seconds, max(0, torch.cuda.max_memory_allocated() - before - tensors)


def split(model: nn.Module, sizes: dict[str, Sequence[int]]) -> None:
    """Compute these layers in parts, wherever a batch has as many samples. Raises ValueError for an unknown layer."""
    layers = convolutions(model)
    for name, parts in sizes.items():
        if name not in layers:
            raise ValueError(f"{VARIABLE} names {name!r}, which is no convolution of the model")
        layers[name].forward = _in_parts(layers[name].forward, list(parts))


def _in_parts(forward: Any, parts: list[int]) -> Any:
    def run(inputs: torch.Tensor) -> torch.Tensor:
        if sum(parts) != len(inputs):
            return forward(inputs)
        return torch.cat([forward(each) for each in inputs.split(parts)])

    return run


def from_environment(model: nn.Module) -> LayerShapes | None:
    """Split the layers that the environment names; return what is to be measured, or None."""
    text = os.environ.get(VARIABLE, "")
    if text:
        split(model, json.loads(text))
    return LayerShapes(model) if os.environ.get(MEASURE) == "1" and "HK_RUN" in os.environ else None


def report(shapes: LayerShapes) -> None:
    """Measure and write it into the run; what cannot be written is told."""
    path = os.path.join(os.environ["HK_RUN"], REPORT)
    measured = shapes.measured()
    try:
        with open(path + ".tmp", "w") as stream:
            json.dump(measured, stream)
        os.replace(path + ".tmp", path)
    except OSError as error:
        warnings.warn(f"{path} cannot be written: {error}", stacklevel=2)
