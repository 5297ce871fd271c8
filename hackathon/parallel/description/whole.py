"""Run a whole captured model a few times, with artificial parameters and inputs, to time all operators together."""

import time
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten

from hackathon.parallel.description.measure import ROOM, RUNS, synchronize
from hackathon.parallel.description.work import fact_of
from hackathon.parallel.live.capture import Traced
from hackathon.parallel.live.split import split


def whole_times(traced: Traced, needs: float, device: str, free: float) -> tuple[float, float] | None:
    """Return the seconds of the forward and backward pass of a captured model; None when it does not fit or run.

    It runs as one stage of the runtime. `needs`: bytes of parameters, gradients and kept tensors; `free`: free bytes of
    memory.
    """
    if needs > ROOM * free:
        return None
    forward, backward = [], []
    try:
        (part,) = split(traced, dict.fromkeys(traced.operators, 0), stages=1, device=torch.device(device))
        parameters = _filled(part.module, device)
        values = [node.meta.get("val") for node in traced.module.graph.nodes if node.op == "placeholder"]
        inputs = [_made(values[at], device) for at in part.inputs]
        for _ in range(RUNS + 1):  # the first one warms up
            synchronize(device)
            begin = time.perf_counter()
            outputs = tree_flatten(part.module(*inputs))[0]
            synchronize(device)
            forward.append(time.perf_counter() - begin)
            loss = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
            if not loss:
                return None
            begin = time.perf_counter()
            torch.autograd.grad(loss, parameters, [torch.ones_like(output) for output in loss], allow_unused=True)
            synchronize(device)
            backward.append(time.perf_counter() - begin)
    except Exception:  # artificial inputs that this model does not accept; the operators' own times remain
        return None
    return min(forward[1:]), min(backward[1:])


def _filled(module: nn.Module, device: str) -> list[torch.Tensor]:
    """Replace each tensor of a stage by numbers on a device; return those that get gradients."""
    replacements: dict[int, Any] = {}
    for inside in module.modules():
        for registry in (inside._parameters, inside._buffers):
            for name, tensor in registry.items():
                if tensor is None:
                    continue
                if id(tensor) not in replacements:
                    new = fact_of(tensor, False).made(device)
                    trained = isinstance(tensor, nn.Parameter)
                    replacements[id(tensor)] = nn.Parameter(new, tensor.requires_grad) if trained else new
                registry[name] = replacements[id(tensor)]
    return [tensor for tensor in replacements.values() if tensor.requires_grad]


def _made(value: Any, device: str) -> Any:
    return fact_of(value, False).made(device) if isinstance(value, torch.Tensor) else value
