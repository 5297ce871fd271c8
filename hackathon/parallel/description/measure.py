"""Seconds of operators: measured on the available device, or the roofline of an unavailable one.

Roofline (Williams, Waterman and Patterson 2009): a kernel takes the longer of its FLOP by the device's peak and its
bytes by the bandwidth of the device's memory. The time of operators that are too large to measure is their roofline,
scaled by the measured ones of their kind.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from hackathon.parallel.description.work import KernelWork, OperatorPasses, TensorFact, call, placed, with_facts

SHORTEST = 0.004
"""Minimum seconds of a measurement, so that the clock does not matter."""
RUNS = 5
WORTH = 1e-4
"""Seconds of roofline from which an operator shows the device's speed; smaller ones measure their launch."""
ROOM = 0.4
"""Share of the free memory that a measurement may take."""
MEMINFO = Path("/proc/meminfo")
"""Linux's report of the memory that is available to programs."""


@dataclass(frozen=True)
class DevicePeaks:
    """A device's peak rates: FLOP/s by precision, and bytes per second of its memory."""

    flops_per_s: Mapping[str, float]
    bytes_per_s: float

    def of(self, precision: str) -> float:
        """Return the FLOP/s of a precision; if unknown, those of the next wider one, else of any."""
        widening = {"fp16": ("fp16", "bf16", "fp32"), "bf16": ("bf16", "fp16", "fp32"), "fp64": ("fp64", "fp32")}
        for candidate in widening.get(precision, ("fp32",)):
            if candidate in self.flops_per_s:
                return self.flops_per_s[candidate]
        return min(self.flops_per_s.values())


def roofline(kernels: Iterable[KernelWork], peaks: DevicePeaks) -> float:
    """Return the seconds of kernels, one after another, on a device with these peaks."""
    return sum(max(kernel.flops / peaks.of(kernel.precision), kernel.bytes / peaks.bytes_per_s) for kernel in kernels)


@dataclass(frozen=True)
class Signature:
    """An operator with the shapes of its inputs: its time is the same anywhere in the model."""

    target: Any
    args: Any
    kwargs: Any
    grad: bool
    work: OperatorPasses

    @property
    def bytes(self) -> float:
        """The bytes of inputs, outputs and intermediate tensors, both ways."""
        facts = tree_flatten((self.args, self.kwargs, self.work.outputs))[0]
        tensors = sum(fact.bytes for fact in facts if isinstance(fact, TensorFact))
        return 2 * tensors + self.work.kept_inside + self.work.workspace


@dataclass(frozen=True)
class Times:
    """Seconds of each signature in a forward and a backward pass, and their origin."""

    seconds: Sequence[tuple[float, float]]
    basis: Mapping[str, Any]


def estimated(signatures: Sequence[Signature], peaks: DevicePeaks) -> list[tuple[float, float]]:
    """Return the roofline of each signature, forward and backward."""
    return [
        (roofline(signature.work.forward, peaks), roofline(signature.work.backward, peaks)) for signature in signatures
    ]


def times_of(
    signatures: Sequence[Signature], counts: Sequence[int], peaks: DevicePeaks, device: str | None, seconds: float,
    measure: "Callable[[str, float], tuple[float, float] | None] | None" = None,
) -> Times:  # fmt: skip
    """Return the times of signatures that occur `counts` times in the model.

    `device`: where to measure for about so many `seconds`; None: only the roofline. `measure`: runs the whole model on
    a device if it fits there, with its estimated seconds; the operators' times are scaled to the measured total.
    """
    rough = estimated(signatures, peaks)
    basis: dict[str, Any] = {
        "device": device, "measured": 0, "signatures": len(signatures), "whole": None,
        "flops_per_s": dict(peaks.flops_per_s), "bytes_per_s": peaks.bytes_per_s,
    }  # fmt: skip
    if device is None:
        return Times(rough, basis)
    end = time.monotonic() + seconds
    free = free_memory(device)
    timings: dict[int, tuple[float, float]] = {}
    # start with the largest part of a step, so that the budget ends among unimportant operators
    for number in sorted(range(len(signatures)), key=lambda index: -counts[index] * sum(rough[index])):
        signature = signatures[number]
        if not signature.work.forward and not signature.work.backward:
            timings[number] = (0.0, 0.0)  # a view
            continue
        left = end - time.monotonic()
        if signature.bytes > ROOM * free or (RUNS + 1) * sum(rough[number]) > left or left <= 0:
            continue
        try:
            timings[number] = timed(signature, device)
        except Exception:  # inputs that it does not accept, such as an index that must not be 0: use its roofline
            continue
    factors = _factors(signatures, rough, timings)
    result = [
        timings.get(number) or _scaled(signatures[number], rough[number], factors) for number in range(len(signatures))
    ]
    basis |= {"measured": len(timings), "factors": factors}
    sums = [sum(count * pair[way] for count, pair in zip(counts, result, strict=True)) for way in (0, 1)]
    if measure is not None and sum(sums) * (RUNS + 1) < max(end - time.monotonic(), 0.1 * seconds):
        took = measure(device, free)
        if took is not None and min(took) > 0 and min(sums) > 0:
            basis["whole"] = {"forward": took[0], "backward": took[1], "forward_sum": sums[0], "backward_sum": sums[1]}
            result = [(forward * took[0] / sums[0], backward * took[1] / sums[1]) for forward, backward in result]
    return Times(result, basis)


def _kind(kernels: Sequence[KernelWork]) -> str:
    return "products" if any(kernel.flops for kernel in kernels) else "other"


def _factors(
    signatures: Sequence[Signature], rough: Sequence[tuple[float, float]], timings: Mapping[int, tuple[float, float]]
) -> dict[str, float]:
    """Return measured by roofline, of matrix products and of the rest; 1 if nothing large was measured."""
    sums: dict[str, list[float]] = {"products": [0.0, 0.0], "other": [0.0, 0.0]}
    for number, pair in timings.items():
        work = signatures[number].work
        for way, kernels in enumerate((work.forward, work.backward)):
            if kernels and rough[number][way] >= WORTH:
                kind = _kind(kernels)
                sums[kind][0] += pair[way]
                sums[kind][1] += rough[number][way]
    return {kind: took / estimate if took and estimate else 1.0 for kind, (took, estimate) in sums.items()}


def _scaled(
    signature: Signature, rough: tuple[float, float], factors: Mapping[str, float]
) -> tuple[float, float]:  # fmt: skip
    work = signature.work
    return rough[0] * factors[_kind(work.forward)], rough[1] * factors[_kind(work.backward)]


def timed(signature: Signature, device: str) -> tuple[float, float]:
    """Return the seconds of an operator in a forward and a backward pass on a device."""
    args, kwargs = with_facts((signature.args, signature.kwargs), lambda fact: fact.made(device))
    args, kwargs = placed((args, kwargs), device)
    with torch.set_grad_enabled(signature.grad):
        result = call(signature.target, args, kwargs)
        forward = fastest_of(lambda: call(signature.target, args, kwargs), device)
        outputs = [
            tensor for tensor in tree_flatten(result)[0] if isinstance(tensor, torch.Tensor) and tensor.requires_grad
        ]
        inputs = [
            tensor
            for tensor in tree_flatten((args, kwargs))[0]
            if isinstance(tensor, torch.Tensor) and tensor.requires_grad
        ]
        if isinstance(signature.target, torch.nn.Module):
            inputs += [parameter for parameter in signature.target.parameters() if parameter.requires_grad]
        if not outputs or not inputs or not signature.work.backward:
            return forward, 0.0
        gradients = [torch.ones_like(output) for output in outputs]
        backward = fastest_of(
            lambda: torch.autograd.grad(outputs, inputs, gradients, retain_graph=True, allow_unused=True), device
        )
    return forward, backward


def fastest_of(work: Callable[[], Any], device: str) -> float:
    """Return the seconds of one piece of work in the fastest of RUNS runs of at least SHORTEST seconds.

    Other programs on the machine can only make a run longer.
    """
    times: list[float] = []
    repeats = 1
    synchronize(device)
    while len(times) < RUNS:
        begin = time.perf_counter()
        for _ in range(repeats):
            work()
        synchronize(device)
        took = time.perf_counter() - begin
        if took < SHORTEST and repeats < 10_000 and not times:
            repeats = min(10_000, max(2 * repeats, int(repeats * SHORTEST / max(took, 1e-7))))
            continue
        times.append(took / repeats)
    return min(times)


def synchronize(device: str) -> None:
    """Wait for the work started on a GPU."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def free_memory(device: str) -> float:
    """Return the bytes that are still available on a device; in main memory including the file cache."""
    if device.startswith("cuda"):
        return float(torch.cuda.mem_get_info()[0])
    with contextlib.suppress(OSError):
        match = re.search(r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(), re.MULTILINE)
        if match:
            return 1024.0 * int(match[1])
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
