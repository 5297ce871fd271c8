"""What a simulation of asynchronous SGD begins with: times of one worker and its server, in seconds. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

LEAST_WARMUP = 10
STEADY, LEAST_SHAPE = 1e-6, 1e-3
"""Relative deviation up to which a time does not vary, and the gamma distribution's least shape: no run is wilder."""


@dataclass(frozen=True)
class Spread:
    """A time that varies: mean and standard deviation in seconds."""

    mean: float
    deviation: float = 0.0

    def draw(self, random: Random) -> float:
        """Return a time of the gamma distribution with this mean and deviation; the mean when it does not vary."""
        if self.mean <= 0 or self.deviation <= STEADY * self.mean:
            return self.mean
        shape = max(LEAST_SHAPE, (self.mean / self.deviation) ** 2)
        return random.gammavariate(shape, self.mean / shape)

    def scaled(self, factor: float) -> "Spread":
        """Return the time, so many times as long."""
        return Spread(self.mean * factor, self.deviation * factor)


@dataclass(frozen=True)
class Timings:
    """One worker and its server.

    An exchange of a gradient for weights takes α + β·bytes·waiting (SPRINT's contention): `latency` is α, `transfer` is
    β·bytes, and `waiting` are the exchanges at the server at that moment, this one included.
    """

    compute: Spread
    """A gradient, from new weights to what is sent."""
    latency: float
    """Of an exchange, during which the server can talk to others."""
    transfer: Spread
    """Of an exchange, during which others wait."""
    update: Spread
    """An update without what grows with its gradients."""
    add: float
    """What each gradient of an update adds to it."""
    batch: int
    """Samples of a gradient."""
    epoch_samples: float
    gradients: int
    """Of the whole training, all workers together."""
    bound: int | None = None
    """Gradients that a worker may be ahead of the slowest one; None: any number."""

    @property
    def exchange(self) -> float:
        """An exchange while nobody else has one."""
        return self.latency + self.transfer.mean

    @property
    def gradients_per_epoch(self) -> float:
        """Gradients in which all data are seen once."""
        return self.epoch_samples / self.batch

    def warmup(self, workers: int) -> int:
        """Return how many gradients count nowhere, at the start; the recipe leaves out as many."""
        return max(LEAST_WARMUP, 2 * workers)

    def scaled(self, factor: float) -> "Timings":
        """Return the same training, in which everything takes so many times as long."""
        return Timings(
            self.compute.scaled(factor), self.latency * factor, self.transfer.scaled(factor),
            self.update.scaled(factor), self.add * factor, self.batch, self.epoch_samples, self.gradients, self.bound,
        )  # fmt: skip


NEEDED = (
    "compute_seconds", "compute_deviation", "exchange_seconds", "exchange_deviation", "latency_seconds",
    "update_seconds", "update_deviation", "add_seconds", "batch_size", "epoch_samples", "gradients", "mini_batch",
)  # fmt: skip
"""Final numbers of a run that timings are made from; the recipe async-sgd writes them."""


def missing(numbers: Mapping[str, float]) -> tuple[str, ...]:
    """Return those of NEEDED that a run did not tell, or whose value cannot be one."""
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
    """Return the timings that the final numbers of a run of one worker tell; `missing` must have found nothing."""
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
