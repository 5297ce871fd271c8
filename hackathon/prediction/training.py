"""The time of a training at a size: the samples that it needs at that batch ÷ the predicted rate. Pure.

A larger batch needs fewer steps and more samples. With the critical batch size B* the samples are E·(1 + B/B*), so the
steps are S·(1 + B*/B) (McCandlish et al., arXiv 1812.06162, 2018). Three batches that reached the target determine B*.
Without it two bounds are valid: a larger batch needs at least as many samples and at most as many steps as a smaller
one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from hackathon.prediction.least_squares import non_negative

GIVEN, MEASURED, CRITICAL, RANGE = "given", "measured", "critical-batch", "range"
"""Basis of the samples: the request; a run at this batch; the critical batch; bounds."""
BATCHES = 3
"""Number of different batches from which the critical batch size is estimated."""
SEEDS = 0.06
"""Relative standard deviation of the samples that a training needs, from seed to seed."""
Z90 = 1.645
FEW = {1: 3.0, 2: 1.8, 3: 1.4}
"""Batches beyond two → factor of the interval: few batches say little about their own scatter."""
WIDEST = 20.0
"""Logarithm of the ratio of an end to the value from which an interval has no information."""
SAME = 0.01
"""Relative difference of batches that count as one."""


@dataclass(frozen=True)
class Need:
    """The samples after which a run had reached its target."""

    batch: float
    """Samples of a step over all processes, or in units of one process's when unknown."""
    samples: float
    exact: bool = True
    """False: it had reached the target by then, without an earlier check."""


@dataclass(frozen=True)
class Goal:
    """The goal of a training, as far as time is concerned."""

    needs: tuple[Need, ...]
    batch: float
    """Samples per step: of one process in weak scaling, of all in strong scaling; 1 when unknown."""
    weak: bool
    batch_known: bool = True
    epoch: float | None = None
    """Samples per epoch."""
    critical: float | None = None
    """The critical batch size, if specified."""
    given: bool = False
    """The only need is the request, not measured: without a critical batch size it is valid at every batch."""

    def batch_at(self, processes: int) -> float:
        """Return the samples of a step over all processes."""
        return self.batch * processes if self.weak else self.batch


@dataclass(frozen=True)
class ValueRange:
    """A value with an interval of 90 %."""

    value: float
    low: float
    high: float

    def over(self, other: "ValueRange") -> "ValueRange":
        """Return the quotient of two independent values."""
        up = math.hypot(math.log(self.high / self.value), math.log(other.value / other.low))
        down = math.hypot(math.log(self.value / self.low), math.log(other.high / other.value))
        value = self.value / other.value
        return ValueRange(value, value * math.exp(-down), value * math.exp(up))

    def outer(self, other: "ValueRange") -> "ValueRange":
        """Return the quotient when this one is a pair of bounds, not a distribution."""
        return ValueRange(self.value / other.value, self.low / other.high, self.high / other.low)

    def times(self, factor: float) -> "ValueRange":
        """Return it in another unit."""
        return ValueRange(self.value * factor, self.low * factor, self.high * factor)

    def to_json(self) -> dict[str, float]:
        """Return value, low and high."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Training:
    """The time of a training at one size."""

    processes: int
    batch: float | None
    samples: ValueRange
    epochs: ValueRange | None
    steps: ValueRange | None
    seconds: ValueRange
    tokens: ValueRange | None
    basis: str

    def to_json(self) -> dict[str, Any]:
        """Return it as `training` in the JSON of a prediction."""
        return {
            "batch": self.batch, "samples": self.samples.to_json(), "epochs": self.epochs and self.epochs.to_json(),
            "steps": self.steps and self.steps.to_json(), "seconds": self.seconds.to_json(),
            "tokens": self.tokens and self.tokens.to_json(), "basis": self.basis,
        }  # fmt: skip


def training(goal: Goal, processes: int, rate: ValueRange, tokens_per_second: float | None) -> Training | None:
    """Return the time of a training; `rate`: samples per second. None when numbers leave the range of floats."""
    batch = goal.batch_at(processes)
    samples, basis = samples_at(goal, batch)
    seconds = samples.outer(rate) if basis == RANGE else samples.over(rate)
    trained = Training(
        processes,
        batch if goal.batch_known else None,
        samples,
        samples.times(1 / goal.epoch) if goal.epoch else None,
        samples.times(1 / batch) if goal.batch_known else None,
        seconds,
        seconds.times(tokens_per_second) if tokens_per_second is not None else None,
        basis,
    )
    spans = [
        span
        for span in (trained.samples, trained.epochs, trained.steps, trained.seconds, trained.tokens)
        if span is not None
    ]
    return trained if all(math.isfinite(span.high) and math.isfinite(span.value) for span in spans) else None


def samples_at(goal: Goal, batch: float) -> tuple[ValueRange, str]:
    """Return the samples that a training needs at a batch, and their basis."""
    needs = _by_batch(goal.needs)
    if goal.given and goal.critical is None:
        return ValueRange(needs[0].samples, needs[0].samples, needs[0].samples), GIVEN
    same = next((need for need in needs if abs(need.batch / batch - 1) <= SAME), None)
    noise = 0.0 if goal.given else SEEDS
    if same is not None:
        return _spread(same.samples, noise), GIVEN if goal.given else MEASURED
    if goal.critical is not None:
        nearest = min(needs, key=lambda need: abs(math.log(need.batch / batch)))
        factor = (1 + batch / goal.critical) / (1 + nearest.batch / goal.critical)
        return _spread(nearest.samples * factor, noise), CRITICAL
    low, high = bounds(needs, batch)
    exact = [need for need in needs if need.exact]
    if len(exact) >= BATCHES:
        return _hyperbola(exact, batch, low, high), CRITICAL
    return ValueRange(math.sqrt(low * high), low, high), RANGE


def bounds(needs: Sequence[Need], batch: float) -> tuple[float, float]:
    """Return the least and the most samples at a batch: samples do not fall and steps do not grow with the batch."""
    smaller = [need for need in needs if need.batch < batch]
    larger = [need for need in needs if need.batch > batch]
    least = [need.samples for need in smaller] + [need.samples * batch / need.batch for need in larger]
    most = [need.samples * batch / need.batch for need in smaller] + [need.samples for need in larger]
    low, high = max(least), min(most)
    return (low, high) if low <= high else (high, low)  # noise of measured needs


def _hyperbola(exact: Sequence[Need], batch: float, low: float, high: float) -> ValueRange:
    """Return E·(1 + B/B*) fitted to measured needs by relative errors, limited to the bounds."""
    columns = [[1 / need.samples for need in exact], [need.batch / need.samples for need in exact]]
    fit = non_negative(columns, [1.0] * len(exact))
    if fit is None:
        return ValueRange(math.sqrt(low * high), low, high)
    value = fit.value([1.0, batch])
    beyond = len(exact) - 2
    noise = max(SEEDS / 2, math.sqrt(fit.residual / max(1, beyond)))
    relative = [1 / value, batch / value]
    wide = min(WIDEST, FEW.get(beyond, 1.0) * Z90 * noise * math.sqrt(1 + fit.leverage(relative)))
    middle = min(max(value, low), high)
    return ValueRange(middle, min(middle, max(low * math.exp(-SEEDS), value * math.exp(-wide))),
                max(middle, min(high * math.exp(SEEDS), value * math.exp(wide))))  # fmt: skip


def _by_batch(needs: Sequence[Need]) -> list[Need]:
    """Return one need for each batch: the median of exact ones, else the smallest by which the target was reached."""
    groups: list[list[Need]] = []
    for need in sorted(needs, key=lambda need: need.batch):
        if groups and abs(need.batch / groups[-1][0].batch - 1) <= SAME:
            groups[-1].append(need)
        else:
            groups.append([need])
    merged = []
    for group in groups:
        exact = [need.samples for need in group if need.exact]
        samples = median(exact) if exact else min(need.samples for need in group)
        merged.append(Need(group[0].batch, samples, bool(exact)))
    return merged


def _spread(value: float, noise: float) -> ValueRange:
    return ValueRange(value, value * math.exp(-Z90 * noise), value * math.exp(Z90 * noise))
