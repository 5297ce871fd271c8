"""The gradient noise scale of a data-parallel training: how large a batch may be before a larger one spares few steps.

    from noise_scale import NoiseScale
    noise = NoiseScale(model, samples=64)        # model: DistributedDataParallel; samples of a process in a step
    ...
    loss.backward()
    noise.step()                                 # before the optimizer's step
    ...
    found = noise.estimate()                     # on every rank, now and then

The squared norm of the gradient of b samples is |G|² + S/b in the mean (McCandlish et al. 2018, "An Empirical Model of
Large-Batch Training", appendix A.1). DistributedDataParallel has both sides of that in each step: every process's own
gradient, and the mean of all of them. So S/|G|² costs two norms a step, and a small all-reduce when it is asked for.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = 200
"""Newest steps that count: the noise scale grows in the course of a training."""
FEWEST = 20
"""Steps without which nothing is said."""


class Estimate(NamedTuple):
    """The noise scale in samples, over all processes together."""

    value: float | None
    """None where these steps do not tell it: then it is at least `low`."""
    low: float
    high: float | None
    """Ends of an interval that holds with 95 %; None: not known."""
    steps: int

    def numbers(self) -> dict[str, float]:
        """Return what is known, for the run's numbers."""
        named = {"noise_scale": self.value, "noise_scale_low": self.low, "noise_scale_high": self.high}
        return {name: number for name, number in named.items() if number is not None}


class NoiseScale:
    """Notes both norms of each step. It takes the place of DDP's hook for communication, and averages as DDP does."""

    def __init__(self, model: DistributedDataParallel, samples: int) -> None:
        """`samples`: those of a process in a step. Raises RuntimeError where the model has another hook."""
        self.samples, self.processes = samples, dist.get_world_size()
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._own: torch.Tensor | None = None
        """Squared norm of this process's gradient in the newest backward pass, as far as its buckets are sent."""
        self._whole = True
        """Whether the last bucket of a pass was sent, and the next one begins a pass."""
        self._steps: deque[torch.Tensor] = deque(maxlen=STEPS)
        """(squared norm of this process's gradient, of the mean) of each step; a GPU is not waited for."""
        model.register_comm_hook(None, self._average)

    def _average(self, state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        gradient = bucket.buffer()
        square = torch.linalg.vector_norm(gradient, dtype=torch.float32).square()
        self._own = square if self._own is None or self._whole else self._own + square
        self._whole = bucket.is_last()
        gradient.div_(self.processes)
        return dist.all_reduce(gradient, async_op=True).get_future().then(lambda done: done.value()[0])

    def step(self) -> None:
        """Note a step whose gradients are averaged; without a backward pass since the last one nothing is noted."""
        if self._own is None:
            return
        norms = torch._foreach_norm([each.grad for each in self._parameters if each.grad is not None])
        mean = torch.stack([each.float() for each in norms]).square().sum()
        self._steps.append(torch.stack([self._own, mean]))
        self._own = None

    def estimate(self) -> Estimate | None:
        """Return what the newest steps tell, the same on every rank; None for too few. Every rank must call it."""
        if len(self._steps) < FEWEST:
            return None
        noted = torch.stack(list(self._steps))
        dist.all_reduce(noted)
        pairs = (noted / self.processes).double().cpu().tolist()
        return estimated(pairs, self.samples, self.samples * self.processes)


def estimated(pairs: Sequence[Sequence[float]], small: int, large: int) -> Estimate | None:
    """Return the noise scale from (mean squared norm of gradients of `small` samples, of one of `large`) of each step.

    Each step gives |G|² and S without bias; the scale is the ratio of their means, with the interval of Fieller (1954,
    J. R. Stat. Soc. B 16). Where |G|² cannot be told from 0 that has no upper end. Steps in which a gradient
    overflowed do not count. None for fewer than FEWEST steps, and for gradients that are 0.
    """
    pairs = [each for each in pairs if all(math.isfinite(number) for number in each)]
    count = len(pairs)
    if count < FEWEST:
        return None
    unit = sum(each[0] / count for each in pairs)  # of no matter for a ratio: squares of small numbers may underflow
    if not 0 < unit < math.inf:
        return None
    signals = [(large * total - small * own) / (large - small) / unit for own, total in pairs]
    noises = [(own - total) / (1 / small - 1 / large) / unit for own, total in pairs]
    signal, noise = sum(signals) / count, sum(noises) / count

    def covariance(some: list[float], middle: float, others: list[float], center: float) -> float:
        products = (((one - middle) * (other - center)) for one, other in zip(some, others, strict=True))
        return sum(products) / (count - 1) / count

    quantile = 1.96 + 2.37 / (count - 1)  # of Student's distribution, by its first correction to the normal one
    square = signal * signal - quantile**2 * covariance(signals, signal, signals, signal)
    product = signal * noise - quantile**2 * covariance(signals, signal, noises, noise)
    rest = noise * noise - quantile**2 * covariance(noises, noise, noises, noise)
    # the interval is where square·r² − 2·product·r + rest ≤ 0; square > 0: |G|² is told from 0
    inside = product * product - square * rest
    if not math.isfinite(inside):
        return None
    root = math.sqrt(max(0.0, inside))
    if square > 0 and signal > 0:
        low, high = (product - root) / square, (product + root) / square
        return Estimate(max(noise / signal, 0.0), max(low, 0.0), max(high, 0.0), count)
    if square >= 0 or rest <= 0:  # neither is told from 0
        return Estimate(None, 0.0, None, count)
    return Estimate(None, max(0.0, (product - root) / square), None, count)
