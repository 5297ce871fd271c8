"""Fit possible shapes of the cost of one unit of work over the size of a run to the measured rows.

Cost = processes ÷ rate. With ideal scaling it is constant; communication and waiting add a shape. Several shapes fit
three rows exactly, so none is selected: each is a candidate, and `mixture` weights them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hackathon.prediction.least_squares import Fit, least_squares, non_negative
from hackathon.prediction.rows import STRONG

CONSTANT, POWER, SERIAL = "constant", "power", "serial"
SHAPES: dict[str, Callable[[float], float]] = {
    "step": lambda m: 1.0 if m > 1 else 0.0,
    "ring": lambda m: 1 - 1 / m,
    "straggler": lambda m: math.sqrt(2 * math.log(m)) if m > 1 else 0.0,
    "log": lambda m: math.log2(m),
    "linear": lambda m: m - 1.0,
}
"""Name → its addition to the cost at m places.

Leaving one node at all; a ring all-reduce, 2(m−1)/m of the bytes (Patarasuk and Yuan 2009); the slowest of m, for
normally distributed times (the mean of their maximum is below σ√(2 ln m)); a tree; a server or a bus shared by all.
"""
PAIRS = (("step", "log"), ("step", "linear"), ("ring", "linear"), ("straggler", "linear"))
"""Two shapes at once, from PAIR_ROWS rows on."""
PAIR_ROWS = 5
PRIOR = {
    CONSTANT: 0.5, "step": 2.0, "ring": 0.5, "straggler": 1.0, "log": 0.5, "linear": 0.3, POWER: 1.0, SERIAL: 1.0,
}  # fmt: skip
"""Prior weight of a shape; PAIR_PRIOR of two at once."""
PAIR_PRIOR = 0.1
PER_WORK = 0.2
"""In strong scaling: the share of a shape whose cost grows with the work; the rest grows with each step.

The work of a step shrinks there. In weak scaling both are one.
"""
NOTHING = 1e-9
"""Share of the cost below which a shape's part is a rounding error: rows of exactly the same cost have one."""
ACROSS = 0.3
"""Weight of a curve over all rows that ignores the node boundary between them."""
RELATIVE = 0.3
"""Weight of a shape over the multiple of the smallest size."""


@dataclass(frozen=True)
class Place:
    """A size: processes, and their nodes."""

    processes: int
    nodes: int | None = None


@dataclass(frozen=True)
class ShapeFit:
    """One shape, fitted to the rows from one on, and its result for the requested size."""

    name: str
    prior: float
    rows: int
    """All rows of the series."""
    parameters: int
    """Coefficients, and one for each omitted smaller row."""
    residual: float
    """Sum of squared relative errors."""
    log_cost: float
    leverage: float
    """Variance of `log_cost` in units of that of one row."""


@dataclass(frozen=True)
class _Axis:
    """The argument of a shape."""

    sizes: tuple[float, ...]
    target: float
    weights: tuple[float, ...]
    """For each first row used."""


def candidates(points: Sequence[Place], costs: Sequence[float], target: Place, mode: str) -> Iterator[ShapeFit]:
    """Yield every candidate for the cost at `target`: each shape, over each axis, from each row on.

    `points` are in order of size, `costs` in the same order. Each omitted smaller row counts as one parameter, so that
    rows inside one node weigh little if the loss between nodes differs.
    """
    axes = list(_axes(points, target))
    for first in range(len(points)):
        data = _Data(points, costs, target, mode, first)
        yield from data.shape(CONSTANT, PRIOR[CONSTANT], [], [])
        if data.used < 2:
            continue
        if mode == STRONG:
            growth = [point.processes / data.base - 1 for point in data.places]
            yield from data.shape(SERIAL, PRIOR[SERIAL], [growth], [target.processes / data.base - 1])
        for axis in axes:
            sizes = axis.sizes[first:]
            if sizes[-1] > sizes[0]:
                yield from _shapes(data, sizes, axis.target, axis.weights[first])


def _shapes(data: "_Data", sizes: Sequence[float], target: float, weight: float) -> Iterator[ShapeFit]:
    """Yield the candidates of one axis from one row on."""
    factors = [(1.0, lambda processes: 1.0)]
    if data.mode == STRONG:
        factors = [(PER_WORK, lambda processes: 1.0), (1 - PER_WORK, lambda processes: processes / data.base)]
    for share, factor in factors:

        def column(
            name: str, share: float = share, factor: Callable[[int], float] = factor
        ) -> tuple[list[float], float]:
            shape = SHAPES[name]
            heights = [shape(size) * factor(point.processes) for size, point in zip(sizes, data.places, strict=True)]
            return heights, shape(target) * factor(data.target.processes)

        for name in SHAPES:
            values, at = column(name)
            yield from data.shape(name, PRIOR[name] * share * weight, [values], [at])
        if data.used >= PAIR_ROWS:
            for pair in PAIRS:
                both = [column(name) for name in pair]
                prior = PAIR_PRIOR * share * weight
                yield from data.shape("+".join(pair), prior, [entry[0] for entry in both], [entry[1] for entry in both])
    logs = [math.log(size) for size in sizes]
    fit = least_squares([[1.0] * len(logs), logs], [math.log(cost) for cost in data.costs])
    if fit is not None and fit.coefficients[1] > NOTHING:
        at_log = [1.0, math.log(target)]
        yield data.candidate(POWER, PRIOR[POWER] * weight, fit, fit.value(at_log), fit.leverage(at_log))


def _axes(points: Sequence[Place], target: Place) -> Iterator[_Axis]:
    """Yield possible arguments of shapes: nodes, processes, multiples of the smallest size; equal ones once."""
    distinct: set[tuple[float, ...]] = set()

    def crossing(first: int) -> float:
        if target.nodes is None or target.nodes < 2 or points[first].nodes is None:
            return 1.0
        point = points[first]
        fuller = target.processes * (point.nodes or 1) > point.processes * target.nodes
        return ACROSS if fuller else 1.0

    placed = target.nodes is not None and all(point.nodes for point in points)
    base = points[0].processes
    processes = [float(point.processes) for point in points]
    axes: list[tuple[list[float], float, float]] = []
    if placed:
        axes.append(([float(point.nodes or 1) for point in points], float(target.nodes or 1), 0.0))
    axes.append((processes, float(target.processes), 1.0))
    axes.append(([size / base for size in processes], target.processes / base, RELATIVE))
    for sizes, at, weight in axes:
        if (*sizes, at) in distinct:
            continue
        distinct.add((*sizes, at))
        beside = [weight * crossing(first) if weight else 1.0 for first in range(len(points))]
        yield _Axis(tuple(sizes), at, tuple(beside))


@dataclass(frozen=True)
class _Data:
    """The rows from one on."""

    all_places: Sequence[Place]
    all_costs: Sequence[float]
    target: Place
    mode: str
    first: int

    @property
    def places(self) -> Sequence[Place]:
        return self.all_places[self.first :]

    @property
    def costs(self) -> Sequence[float]:
        return self.all_costs[self.first :]

    @property
    def used(self) -> int:
        return len(self.all_places) - self.first

    @property
    def base(self) -> int:
        return self.all_places[0].processes

    def shape(
        self, name: str, prior: float, columns: Sequence[Sequence[float]], at: Sequence[float]
    ) -> Iterator[ShapeFit]:
        """Yield the candidate of a constant and some columns, fitted by relative errors, if all of them contribute.

        With a zero coefficient, or one from rounding errors, it would repeat another candidate.
        """
        columns, at = [[1.0] * self.used, *columns], [1.0, *at]
        relative = [[x / cost for x, cost in zip(column, self.costs, strict=True)] for column in columns]
        fit = non_negative(relative, [1.0] * self.used)
        if fit is None or len(fit.used) < len(columns):
            return
        parts = zip(fit.coefficients, relative, strict=True)
        if all(coefficient * max(column) > NOTHING for coefficient, column in parts):
            cost = fit.value(at)
            yield self.candidate(name, prior, fit, math.log(cost), fit.leverage([x / cost for x in at]))

    def candidate(self, name: str, prior: float, fit: Fit, log_cost: float, leverage: float) -> ShapeFit:
        return ShapeFit(name, prior, len(self.all_places), len(fit.used) + self.first, fit.residual, log_cost, leverage)
