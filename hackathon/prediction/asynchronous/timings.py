"""The input of a simulation of asynchronous SGD: times of one worker and its server, in seconds. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

LEAST_WARMUP = 10
STEADY, LEAST_SHAPE = 1e-6, 1e-3
"""Relative deviation up to which a time is constant, and the gamma distribution's least shape."""


@dataclass(frozen=True)
class Spread:
    """A random time: mean and standard deviation in seconds."""

    mean: float
    deviation: float = 0.0

    def draw(self, random: Random) -> float:
        """Return a time of the gamma distribution with this mean and deviation; the mean when it is constant."""
        if self.mean <= 0 or self.deviation <= STEADY * self.mean:
            return self.mean
        shape = max(LEAST_SHAPE, (self.mean / self.deviation) ** 2)
        return random.gammavariate(shape, self.mean / shape)

    def scaled(self, factor: float) -> "Spread":
        """Return the time multiplied by a factor."""
        return Spread(self.mean * factor, self.deviation * factor)


@dataclass(frozen=True)
class Timings:
    """One worker and its server.

    An exchange of a gradient for weights takes α + β·bytes·waiting (SPRINT's contention): `latency` is α, `transfer` is
    β·bytes, and `waiting` are the exchanges at the server at that time, including this one.
    """

    compute: Spread
    """Time of a gradient, from new weights to the start of its exchange."""
    latency: float
    """Time of an exchange during which the server can exchange with others."""
    transfer: Spread
    """Time of an exchange during which others wait."""
    update: Spread
    """Time of an update without the part that grows with its gradients."""
    add: float
    """Additional time of an update per gradient."""
    batch: int
    """Samples per gradient."""
    epoch_samples: float
    gradients: int
    """Gradients of the whole training, all workers together."""
    bound: int | None = None
    """Gradients that a worker may be ahead of the slowest one; None: unlimited."""

    @property
    def exchange(self) -> float:
        """Time of a single exchange without others."""
        return self.latency + self.transfer.mean

    @property
    def gradients_per_epoch(self) -> float:
        """Gradients per epoch."""
        return self.epoch_samples / self.batch

    def warmup(self, workers: int) -> int:
        """Return the number of gradients at the start that do not count; the recipe omits as many."""
        return max(LEAST_WARMUP, 2 * workers)

    def scaled(self, factor: float) -> "Timings":
        """Return the same training with all times multiplied by a factor."""
        return Timings(
            self.compute.scaled(factor), self.latency * factor, self.transfer.scaled(factor),
            self.update.scaled(factor), self.add * factor, self.batch, self.epoch_samples, self.gradients, self.bound,
        )  # fmt: skip


NEEDED = (
    "compute_seconds", "compute_deviation", "exchange_seconds", "exchange_deviation", "latency_seconds",
    "update_seconds", "update_deviation", "add_seconds", "batch_size", "epoch_samples", "gradients", "mini_batch",
)  # fmt: skip
"""Final numbers of a run that timings need; the recipe async-sgd writes them."""


def missing(numbers: Mapping[str, float]) -> tuple[str, ...]:
    """Return those of NEEDED that a run lacks, or that have an invalid value."""
    positive = ("batch_size", "epoch_samples", "gradients", "mini_batch", "compute_seconds", "exchange_seconds")
    return tuple(
        name
        for name in NEEDED
        if not math.isfinite(numbers.get(name, math.nan))
        or numbers[name] < 0
        or numbers[name] > 1e12
        or (name in positive and numbers[name] <= 0)
        or (name == "batch_size" and numbers[name] < 1)
    )


def timings_of(numbers: Mapping[str, float]) -> Timings:
    """Return the timings from the final numbers of a run of one worker; `missing` must be empty for them."""
    exchange, latency = numbers["exchange_seconds"], min(numbers["latency_seconds"], numbers["exchange_seconds"])
    # the mean update had as many gradients as the mean mini-batch
    adding = numbers["add_seconds"] * numbers["mini_batch"] / numbers["batch_size"]
    bound = numbers.get("staleness_bound", -1)
    return Timings(
        compute=Spread(numbers["compute_seconds"], numbers["compute_deviation"]),
        latency=latency,
        transfer=Spread(exchange - latency, numbers["exchange_deviation"]),
        update=Spread(max(0.0, numbers["update_seconds"] - adding), numbers["update_deviation"]),
        add=numbers["add_seconds"],
        batch=round(numbers["batch_size"]),
        epoch_samples=numbers["epoch_samples"],
        gradients=max(1, round(numbers["gradients"])),
        bound=round(bound) if math.isfinite(bound) and bound >= 0 else None,
    )
