"""What the parameter server measures: staleness, mini-batch, and what gradients, exchanges and updates take.

The first gradients count nowhere: threads, caches and connections are warm after them. `hackathon predict --async`
simulates the same training with the same gradients left out, from the timings that are told here.
"""

import math
import time
from typing import TypeVar

from exchange import COMPUTE, EXCHANGE, SAMPLES

Number = TypeVar("Number", int, float)


class Statistics:
    """Numbers of all updates behind the warm-up."""

    def __init__(self, workers: int, batch_size: int, epoch_samples: int) -> None:
        self._warmup, self._batch_size, self._epoch_samples = max(10, 2 * workers), batch_size, epoch_samples
        self._seen, self._began, self._ended = 0, 0.0, 0.0
        self._compute: list[float] = []
        self._exchange: list[float] = []
        self._adding: list[float] = []
        self._updating: list[float] = []
        self._staleness: list[int] = []
        self._batches: list[int] = []

    def add(self, headers: list[list[float]], staleness: list[int], adding: float, updating: float) -> None:
        """Note an update at its end: what came with its gradients, and the seconds of adding them up and of all."""
        counts, self._seen = self._seen >= self._warmup, self._seen + len(headers)
        self._ended = time.perf_counter()
        if not counts:
            self._began = self._ended
            return
        self._compute += [each[COMPUTE] for each in headers]
        self._exchange += [each[EXCHANGE] for each in headers]
        self._batches.append(round(sum(each[SAMPLES] for each in headers) / self._batch_size))
        self._staleness += staleness
        self._adding.append(adding)
        self._updating.append(updating)

    def numbers(self) -> dict[str, float]:
        """Return the final numbers; none when the training ended in its warm-up."""
        gradients = len(self._staleness)
        if not gradients:
            return {}
        found: dict[str, float] = {"updates": len(self._batches), "most_gradients": max(self._batches)}
        found["compute_seconds"] = math.fsum(self._compute) / gradients
        found["exchange_seconds"], found["update_seconds"] = _middle(self._exchange), _middle(self._updating)
        found["compute_deviation"] = _deviation(self._compute)
        found["exchange_deviation"] = _deviation(self._exchange)
        found["update_deviation"] = _deviation(self._updating)
        found["add_seconds"] = math.fsum(self._adding) / gradients
        found["sweep_seconds"] = (self._ended - self._began) / gradients * self._epoch_samples / self._batch_size
        found["mini_batch"] = self._batch_size * gradients / len(self._batches)
        found["staleness"] = sum(self._staleness) / gradients
        for percent in (50, 90, 99):
            found[f"staleness_p{percent}"] = _percentile(self._staleness, percent)
        for percent in (10, 50, 90):
            found[f"mini_batch_p{percent}"] = self._batch_size * _percentile(self._batches, percent)
        found["staleness_max"] = max(self._staleness)
        return found


def _middle(values: list[float]) -> float:
    """Return the mean without the 5 % shortest and longest: a stall of the machine is no longer update."""
    cut = len(values) // 20
    kept = sorted(values)[cut : len(values) - cut]
    return math.fsum(kept) / len(kept)


def _deviation(values: list[float]) -> float:
    """Return half the range of the middle 68 %: the standard deviation where there are no stalls."""
    return (_percentile(values, 84) - _percentile(values, 16)) / 2


def _percentile(values: list[Number], percent: int) -> Number:
    """Return the smallest value that so many per cent of all do not exceed."""
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]
