"""Simulate workers and a parameter server by discrete events. Pure; the same seed yields the same training.

A worker computes a gradient and exchanges it for weights. It does not wait for an update, unless there is a bound or
MOST_WAITING of its gradients are at the server. The server exchanges with one worker after another (FIFO): in the
middle of an exchange the gradient has arrived, and the worker gets the weights of that moment. The update thread
applies all waiting gradients as one update; the new weights exist at its end. All workers start at once, as in the
recipe.

After Oyama, Nomura, Sato, Nishimura, Tamatsu and Matsuoka, Predicting Statistics of Asynchronous SGD Parameters for a
Large-Scale Distributed Deep Learning System on GPU Supercomputers, IEEE Big Data 2016 (SPRINT).
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from hackathon.prediction.asynchronous.timings import Timings

MOST_WAITING = 8
"""Gradients of one worker that the server queues; with more it does not answer. The recipe has the same limit."""
LEAST_UPDATES = 10
"""A training continues until so many updates count, even beyond its end."""
# Kinds of events. At equal times the lower kind comes first, so that gradients that arrive together share an update.
_REQUEST, _ARRIVAL, _UPDATED, _START = range(4)


@dataclass
class Counts:
    """Values with their frequencies."""

    values: Counter[int] = field(default_factory=Counter)

    @property
    def mean(self) -> float:
        """Their mean; 0 without any."""
        total = sum(self.values.values())
        return sum(value * times for value, times in self.values.items()) / total if total else 0.0

    @property
    def largest(self) -> int:
        """The largest of them; 0 without any."""
        return max(self.values, default=0)

    def percentile(self, percent: float) -> int:
        """Return the smallest value that so many per cent of all do not exceed."""
        target = percent / 100 * sum(self.values.values())
        count = 0
        for value in sorted(self.values):
            count += self.values[value]
            if count >= target - 1e-9:
                return value
        return self.largest


@dataclass(frozen=True)
class Simulated:
    """A simulated training after its warm-up."""

    rate: float
    """Gradients per second, all workers together."""
    staleness: Counts
    """Of each gradient, in updates."""
    batches: Counts
    """Gradients of each update."""
    update_load: float
    """Share of the time in which the update thread works."""
    link_load: float
    """Share of the time in which the server exchanges with workers."""
    held: float
    """Share of the exchanges whose answer waited for updates."""


def simulate(timings: Timings, workers: int, seed: int = 1, *, starts: Sequence[float] | None = None) -> Simulated:
    """Return the statistics of a training with so many workers.

    `starts`: when each worker begins, in seconds; None: all at once. Starts that are evenly spread over the time
    between two gradients of a worker are the steady state of constant times.
    """
    return _Training(timings, workers, seed).run(starts or [0.0] * workers)


class _Training:
    """The state of a simulated training."""

    def __init__(self, timings: Timings, workers: int, seed: int) -> None:
        self.timings, self.workers, self.random = timings, workers, Random(seed)
        self.events: list[tuple[float, int, int, int]] = []
        """(seconds, kind, number of the event, worker): a heap."""
        self.number = 0
        self.version = 0
        self.read = [0] * workers
        """The version of the weights that each worker computes with."""
        self.waiting: list[tuple[int, int]] = []
        """(worker, version of its weights) of gradients without an update."""
        self.taken: list[tuple[int, int]] = []
        """Those of the running update."""
        self.starting = False
        self.link_free = 0.0
        self.sent, self.applied = [0] * workers, [0] * workers
        self.exchanges = self.held_back = 0
        self.held: list[int] = []
        """Workers whose answer waits for slower ones."""
        self.staleness, self.batches = Counts(), Counts()
        self.done = 0
        self.began = self.ended = 0.0
        self.updating = self.talking = 0.0

    def run(self, starts: Sequence[float]) -> Simulated:
        total, warmup = self.timings.gradients, self.timings.warmup(self.workers)
        if total <= warmup:
            total = warmup + total  # so short that nothing would remain of it
        for worker, moment in enumerate(starts):
            self._compute(worker, moment)
        while self.done < total or sum(self.batches.values.values()) <= LEAST_UPDATES:
            now, kind, _, worker = heapq.heappop(self.events)
            if kind == _REQUEST:
                self._exchange(worker, now)
            elif kind == _ARRIVAL:
                self._arrived(worker, now)
            elif kind == _START:
                self._start(now, counts=self.done >= warmup)
            else:
                self._updated(now, warmup)
        seconds = self.ended - self.began
        counted = sum(self.staleness.values.values())
        share = 1 / seconds if seconds > 0 else 0.0
        rate = counted * share
        loads = self.updating * share, self.talking * share
        return Simulated(rate, self.staleness, self.batches, *loads, self.held_back / self.exchanges)

    def _add(self, moment: float, kind: int, worker: int = 0) -> None:
        self.number += 1
        heapq.heappush(self.events, (moment, kind, self.number, worker))

    def _compute(self, worker: int, now: float) -> None:
        """Start a worker's gradient."""
        self._add(now + self.timings.compute.draw(self.random) + self.timings.latency / 2, _REQUEST, worker)

    def _exchange(self, worker: int, now: float) -> None:
        """Let the server accept a gradient after the exchanges before it."""
        begins = max(now, self.link_free)
        takes = self.timings.transfer.draw(self.random)
        self.link_free = begins + takes
        self.talking += takes if self.began else 0.0
        self._add(begins + takes / 2, _ARRIVAL, worker)

    def _arrived(self, worker: int, now: float) -> None:
        self.waiting.append((worker, self.read[worker]))
        self.sent[worker] += 1
        self.exchanges += 1
        self._wake(now)
        if self._may_go_on(worker):
            self._answer(worker, now)
        else:
            self.held.append(worker)
            self.held_back += 1

    def _may_go_on(self, worker: int) -> bool:
        bound, sent = self.timings.bound, self.sent[worker]
        if sent - self.applied[worker] > MOST_WAITING:
            return False
        return bound is None or sent - min(self.applied) <= bound

    def _answer(self, worker: int, now: float) -> None:
        """Send the current weights to a worker, which continues with them."""
        self.read[worker] = self.version
        half = self.timings.transfer.mean / 2
        self._compute(worker, now + half + self.timings.latency / 2)

    def _wake(self, now: float) -> None:
        """Start an update after all arrivals of this moment, unless one is running."""
        if self.waiting and not self.taken and not self.starting:
            self.starting = True
            self._add(now, _START)

    def _start(self, now: float, *, counts: bool) -> None:
        self.starting = False
        self.taken, self.waiting = self.waiting, []
        takes = self.timings.update.draw(self.random) + self.timings.add * len(self.taken)
        if counts:
            self.updating += takes
            self.batches.values[len(self.taken)] += 1
            self.staleness.values.update(self.version - read for _, read in self.taken)
        self._add(now + takes, _UPDATED)

    def _updated(self, now: float, warmup: int) -> None:
        taken, self.taken = self.taken, []
        self.version += 1
        for worker, _ in taken:
            self.applied[worker] += 1
        was, self.done = self.done, self.done + len(taken)
        self.ended = now
        if was < warmup:
            self.began = now
        free = [worker for worker in self.held if self._may_go_on(worker)] if self.held else []
        self.held = [worker for worker in self.held if worker not in free] if free else self.held
        for worker in free:
            self._answer(worker, now)
        self._wake(now)
