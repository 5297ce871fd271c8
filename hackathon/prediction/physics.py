"""The time of a step as computing and a partly hidden all-reduce of the gradients. Pure.

    step = c + exposed + waiting,  exposed = max(A − h·c, t·A),  waiting = w·√(2 ln n)·c

c: computing of one process; A: the all-reduce of all gradients on this network; h: the share of computing during which
communication can run (backward is about two thirds of it); t: the share of A after the last gradient. Only A is
measured. h and w are unknown, so each combination is a candidate, and the rows weight them.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from hackathon.prediction.mixture import Component, scaled
from hackathon.prediction.network import NO_NETWORK, Network
from hackathon.prediction.rows import STRONG, MeasuredSize

PHYSICS = "physics"
HIDDEN = ((0.0, 0.1), (0.2, 0.2), (0.4, 0.35), (0.6, 0.35))
"""h and its prior weight."""
TAIL = (0.05, 0.2)
"""t; smaller for many small gradients than for few large ones."""
WAITING = ((0.0, 0.35), (0.008, 0.4), (0.025, 0.25))
"""w and its prior weight: the standard deviation of a process's step in units of the step."""
BENCHMARK = 0.1
"""Relative error of A: a benchmark's all-reduce is one message, a program's are many during computing."""
SCATTER = 0.01
"""Relative error of a prediction with known computing and communication."""
ROW = 0.015
"""Relative error of a row besides the model."""
MISFIT = 0.05
"""Mean relative error of the best candidate over which the model's weight falls to 61 %."""


@dataclass(frozen=True)
class Exposed:
    """A run's exposed communication per step, by the program's own clock."""

    processes: int
    nodes: int | None
    seconds: float


@dataclass(frozen=True)
class Physics:
    """Facts about the step of one program on one cluster."""

    network: Network = NO_NETWORK
    gradient_bytes: float | None = None
    batch: float | None = None
    """Work of a step in the unit of the rates: of one process in weak scaling, of all in strong scaling.

    If values are times of a step: the seconds of their unit.
    """
    exposed: tuple[Exposed, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether a step can be computed from it."""
        return bool(self.network.measured and self.gradient_bytes and self.batch)


@dataclass(frozen=True)
class StepModel:
    """The candidates together."""

    components: tuple[Component, ...]
    trust: float
    """0…1: how well the best candidate fits the rows."""


@dataclass(frozen=True)
class _Candidate:
    hidden: float
    tail: float
    waiting: float
    slow_start: int
    """Index of the time of an all-reduce that is used if several are possible."""
    prior: float

    def exposed(self, compute: float, reduce: float) -> float:
        return max(reduce - self.hidden * compute, (self.tail if self.hidden else 1.0) * reduce)

    def step(self, compute: float, reduce: float, processes: int) -> float:
        wait = self.waiting * math.sqrt(2 * math.log(processes)) if processes > 1 else 0.0
        return compute * (1 + wait) + self.exposed(compute, reduce)


CANDIDATES = tuple(
    _Candidate(h, t, w, start, p * q / 4)
    for (h, p), t, (w, q), start in itertools.product(HIDDEN, TAIL, WAITING, (0, -1))
)


def step_model(physics: Physics, rows: Sequence[MeasuredSize], target: MeasuredSize, mode: str) -> StepModel | None:
    """Return the cost at `target` by the rows and the network; None when the network is unknown there.

    Each candidate's computing is the mean (of logarithms) over the rows. Rows with an unknown network are omitted, such
    as those inside a node if only the network between nodes was measured.
    """
    batch = physics.batch or 0.0
    strong = mode == STRONG
    reductions = [(row, _reductions(physics, row)) for row in rows]
    pairs = [(row, times) for row, times in reductions if times]
    at = _reductions(physics, target)
    if not pairs or not at or not physics.whole:
        return None
    base = pairs[0][0].processes
    entries: list[tuple[float, float, float, float]] = []
    for candidate in CANDIDATES:
        computes = []
        for row, times in pairs:
            solved = _compute(
                candidate, _seconds(row.cost, row.processes, batch, strong), times[candidate.slow_start], row
            )
            share = row.processes / base if strong else 1.0
            computes.append(solved * share)
        compute = math.exp(math.fsum(map(math.log, computes)) / len(computes))
        residual = 0.0
        for row, times in pairs:
            own = compute / (row.processes / base if strong else 1.0)
            expected = candidate.step(own, times[candidate.slow_start], row.processes)
            residual += math.log(expected / _seconds(row.cost, row.processes, batch, strong)) ** 2
        misfit = residual / (2 * ROW * ROW)
        for measurement in physics.exposed:
            size = MeasuredSize(measurement.processes, 1.0, measurement.nodes)
            times = _reductions(physics, size)
            if not times or measurement.processes < 2:
                continue
            own = compute / (measurement.processes / base if strong else 1.0)
            exposed = candidate.exposed(own, times[candidate.slow_start])
            scale = math.hypot(0.2 * max(exposed, measurement.seconds), ROW * own)
            misfit += (exposed - measurement.seconds) ** 2 / (2 * scale * scale)
        own = compute / (target.processes / base if strong else 1.0)
        reduce = at[candidate.slow_start]
        step = candidate.step(own, reduce, target.processes)
        cost = step / batch * (target.processes if strong else 1.0)
        deviation = math.hypot(SCATTER, BENCHMARK * candidate.exposed(own, reduce) / step)
        entries.append((math.log(candidate.prior) - misfit, math.log(cost), deviation, residual / len(pairs)))
    top = max(weight for weight, *_ in entries)
    best = min(spread for *_, spread in entries)
    parts = [Component(math.exp(weight - top), cost, deviation, PHYSICS) for weight, cost, deviation, _ in entries]
    return StepModel(tuple(scaled(parts)), math.exp(-best / (2 * MISFIT * MISFIT)))


def _reductions(physics: Physics, size: MeasuredSize) -> tuple[float, ...]:
    return physics.network.seconds(physics.gradient_bytes or 0.0, size.processes, size.nodes)


def _seconds(cost: float, processes: int, batch: float, strong: bool) -> float:
    """Return the seconds of a step with this cost per unit of work."""
    return cost * batch / (processes if strong else 1)


def _compute(candidate: _Candidate, step: float, reduce: float, row: MeasuredSize) -> float:
    """Return the computing in a step of this length; a step shorter than its all-reduce allows has little."""
    low, high = step * 1e-3, step
    if candidate.step(low, reduce, row.processes) >= step:
        return low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if candidate.step(middle, reduce, row.processes) < step else (low, middle)
    return (low + high) / 2
