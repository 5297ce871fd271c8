"""The plan of least `max-load` or `fill`: dynamic programmes, repeated within boxes of thresholds for `fill`."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy

from hackathon.parallel.plan.cost import CostedPlan, Stage
from hackathon.parallel.plan.fronts import Fronts, TooManyEntries
from hackathon.parallel.plan.labels import Labels, Shape, TooManyLabels
from hackathon.parallel.plan.lattice import Array, Lattice, StageRow
from hackathon.parallel.plan.passes import LeastValues, Memories, OutOfTime, Programme, StageWay

TIE = 1e-10
"""Values with a smaller relative difference are equal: sums of the same numbers in another order differ by 1e-13."""
MOST_LABELS, BOX = 3000, 20
"""Most labels; partial plans that take as long as a box."""

Costed = Callable[[Sequence[Stage]], CostedPlan]


@dataclass
class Searched:
    """The best plan of a search (None: none), its value, and a lower bound of all plans that it covers."""

    plan: CostedPlan | None
    value: float
    bound: float

    @property
    def closed(self) -> bool:
        """Whether the bound proves the value, or that there is no plan."""
        return self.bound >= self.value * (1 - TIE)


@dataclass
class Effort:
    """The partial plans that the best-first searches for one choice of replicas may look at, together.

    Unlike a clock, it ends the same search at the same plan.
    """

    left: float = float("inf")

    def spend(self, number: int = 1) -> bool:
        """Count partial plans; return whether the limit was not reached before."""
        self.left -= number
        return self.left > -number


class Search:
    """One lattice, with the shape and the memory of its plans."""

    def __init__(
        self,
        lattice: Lattice,
        memories: Memories,
        shape: Shape,
        costed: Costed,
        deadline: float,
        effort: "Effort | None" = None,
    ) -> None:
        self.lattice, self.memories, self.shape, self.costed = lattice, memories, shape, costed
        self.deadline, self.effort = deadline, effort or Effort()

    @property
    def relaxed(self) -> bool:
        """Whether plans of the lattice only bound the values of the graph's plans."""
        return self.lattice.relaxed

    def programme(self, shape: Shape, memory: str, *, by_stages: bool, ahead: str | None = None) -> Programme:
        """Return a dynamic programme that counts memory and passes as `Labels` says. Raises TooManyLabels."""
        labels = Labels(shape, memory, by_stages=by_stages, most=MOST_LABELS, ahead=ahead)
        return Programme(self.lattice, self.memories, labels, self.deadline)

    # ---- max-load

    def least_load(self, upper: float = float("inf")) -> Searched:
        """Return the plan of least max-load; of equal ones that of fewest devices, then of fewest stages.

        Only plans below `upper` are searched. With too many labels, the plan may not be the best one, and the bound
        shows it. Raises OutOfTime and TooManyLabels.
        """
        first = self._least_load(upper, "least")
        if first.plan is None or first.plan.feasible:
            return first
        try:  # a plan that surely fits makes the exact search shorter, and is there when that takes too long
            sure = self._least_load(upper, "most")
            upper = min(upper, sure.value * (1 + 4 * TIE))
        except OutOfTime:
            return Searched(None, float("inf"), first.bound)
        try:
            return self._least_load(upper, "exact")
        except (OutOfTime, TooManyLabels):
            return replace(sure, bound=first.bound)

    def exact_load(self) -> CostedPlan | None:
        """Return the plan of least max-load that fits, for a shape of few labels.

        Raises OutOfTime and TooManyLabels.
        """
        return self._least_load(float("inf"), "exact").plan

    def sure_load(self) -> CostedPlan | None:
        """Return a plan of low max-load that fits, if one fits with the most memory that a stage could need.

        Raises OutOfTime and TooManyLabels.
        """
        return self._least_load(float("inf"), "most").plan

    def _least_load(self, upper: float, memory: str) -> Searched:
        programme = self.programme(self.shape, memory, by_stages=False)
        table = programme.run(load_cost, upper)
        label = _first(table.values, programme.labels.finals(), TIE)
        if label is None:
            return Searched(None, float("inf"), upper)
        best = float(min(table.values[final] for final in programme.labels.finals()))
        if self.relaxed:
            return Searched(None, float("inf"), best)
        devices = programme.labels.labels[label].devices
        if not programme.labels.by_stages:
            try:
                programme = self.programme(replace(self.shape, devices=devices), memory, by_stages=True)
                fewer = programme.run(load_cost, best + 2 * TIE * best or float("inf"))
                at = _first(fewer.values, programme.labels.finals(), TIE, least=best)
                table, label = (fewer, at) if at is not None else (table, label)
            except (OutOfTime, TooManyLabels):
                pass
        plan = self.costed(table.plan(label))
        return Searched(plan, plan.max_load(), best)

    # ---- fill

    def least_fill(self, start: CostedPlan | None, gap: float = TIE) -> Searched:
        """Return the plan of least `fill`; of equal ones that of fewest devices, then of fewest stages.

        When the time is over, or at the gap, it returns the best plan so far. Raises TooManyLabels.
        """
        outcome = self._least_fill(start, gap, "least")
        if outcome is None:
            try:
                outcome = self._least_fill(start, gap, "exact")
            except TooManyLabels:
                outcome = self._least_fill(start, gap, "most")
                assert outcome is not None
                outcome = replace(outcome, bound=0.0)
        assert outcome is not None
        return outcome

    def _least_fill(self, start: CostedPlan | None, gap: float, memory: str) -> Searched | None:
        """Return the outcome; None if memory is counted too low for the plans that the search meets."""
        programme = self.programme(self.shape, memory, by_stages=True)
        exact = memory != "least"
        finals = list(programme.labels.finals())
        boxes = Boxes(self, programme, exact)
        if gap <= TIE:
            try:
                near = boxes.nearby(start, finals)
            except (OutOfTime, TooManyEntries):
                near = None
            if near is not None:
                return near
        outcome = boxes.search(start, finals, float("inf"), gap)
        if outcome is None or outcome.plan is None or not outcome.closed:
            return outcome
        bound = outcome.bound
        while outcome.plan is not None:  # of equal plans the one of fewer devices, then of fewer stages
            mine = (outcome.plan.devices_used, len(outcome.plan.stages))
            labels = programme.labels.labels
            smaller = [final for final in finals if (labels[final].devices, labels[final].stages) < mine]
            equal = boxes.search(None, smaller, bound + 3 * TIE * bound, 1.0) if smaller else None
            if equal is None and smaller and not exact:
                return None
            if equal is None or equal.plan is None:
                break
            outcome = equal
        assert outcome.plan is not None
        return Searched(outcome.plan, outcome.value, bound)


def _first(values: Array, labels: Sequence[int], tie: float, least: float | None = None) -> int | None:
    """Return the first label whose value is the least one; None if no label has a value."""
    finite = [label for label in labels if values[label] < float("inf")]
    if not finite:
        return None
    least = min(float(values[label]) for label in finite) if least is None else least
    return next((label for label in finite if values[label] <= least + tie * least), None)


def load_cost(row: StageRow, way: StageWay, replicas: Array) -> Array:
    """Return the load of stages: seconds per micro-batch of each replica, with all transfers."""
    transfers = row.in_forward + row.in_backward + row.out_forward + row.out_backward
    cost: Array = (way.forward + way.backward + transfers) / replicas
    return cost


@dataclass(frozen=True)
class ThresholdBox:
    """Plans whose largest forward, backward and all-reduce time exceed `low`, and whose stages are within `high`."""

    low: tuple[float, ...] = (0.0, 0.0, 0.0)
    high: tuple[float, ...] = (float("inf"),) * 3

    def split(self, axis: int, at: float) -> "tuple[ThresholdBox, ThresholdBox]":
        """Return the plans with all stages at or below a threshold, and the others."""
        low = tuple(at if number == axis else threshold for number, threshold in enumerate(self.low))
        high = tuple(at if number == axis else threshold for number, threshold in enumerate(self.high))
        return ThresholdBox(self.low, high), ThresholdBox(low, self.high)


class Boxes:
    """Branch and bound over boxes of thresholds.

    Let R = m + S − 1, and Q the same with the most stages that a better plan can have. Within a box,
    R · max over stages of (max(f, low) + max(b, low) + max(A, low) / Q) + (1 − R/Q) · low A is a lower bound, since
    R ≤ Q, and one dynamic programme finds its least value for every number of stages.
    """

    def __init__(self, search: Search, programme: Programme, exact: bool) -> None:
        self.search_of, self.programme, self.exact = search, programme, exact
        self.micro_batches = search.shape.micro_batches
        operators = search.lattice.graph.operators
        self._share = sum(operator.forward + operator.backward for operator in operators) / search.shape.devices
        """Least seconds of max forward + max backward of all plans."""

    def _rounds(self, value: float) -> int:
        """Return m + S − 1 for the most stages that a plan of at most a value can have."""
        most = self.micro_batches + self.search_of.shape.devices - 1
        if self._share <= 0 or value >= most * self._share:
            return most
        return max(self.micro_batches, int(value / self._share * (1 + TIE)) + 1)

    def search(self, start: CostedPlan | None, finals: Sequence[int], upper: float, gap: float) -> Searched | None:
        """Return the best plan below `upper`; None if a plan does not fit because its memory was counted too low."""
        best, value = start, start.fill() if start is not None else upper
        numbers = count()
        bound, bounds_left = value, [(0.0, next(numbers), ThresholdBox())]
        while bounds_left and self.search_of.effort.spend(BOX):
            floor, _, box = heapq.heappop(bounds_left)
            if floor >= value * (1 - TIE) or (best is not None and floor >= value * (1 - gap)):
                heapq.heappush(bounds_left, (floor, next(numbers), box))
                break
            try:
                table = self._run(box, value)
            except OutOfTime:
                heapq.heappush(bounds_left, (floor, next(numbers), box))
                break
            label, least = self._least(table, finals, box, value)
            if label is None or (least >= value * (1 - TIE) and best is not None):
                continue
            plan = self.search_of.costed(table.plan(label))
            if not plan.feasible:
                if not self.exact:
                    return None
                continue
            if plan.fill() < value or (best is None and plan.fill() <= value):
                best, value = plan, plan.fill()
            if gap >= 1 and best is not None:
                break
            for child in self._children(plan, box):
                heapq.heappush(bounds_left, (max(floor, least), next(numbers), child))
        bound = min(value, min(entry[0] for entry in bounds_left)) if bounds_left else value
        return Searched(best, value, bound) if best is not None else Searched(None, float("inf"), bound)

    def nearby(self, start: CostedPlan | None, finals: Sequence[int]) -> Searched | None:
        """Return the best plan by fronts around the best one so far.

        None if a plan does not fit because its memory was counted too low. Raises OutOfTime and TooManyEntries.
        """
        best, value = start, start.fill() if start is not None else float("inf")
        for _ in range(2):  # the second time with the value of the first, for stages of that length only
            table = self._run(ThresholdBox(), value)
            label, least = self._least(table, finals, ThresholdBox(), value)
            if label is None or (least >= value * (1 - TIE) and best is not None):
                break
            plan = self.search_of.costed(table.plan(label))
            if not plan.feasible:
                return None
            if plan.fill() >= value:
                break
            best, value = plan, plan.fill()
        if best is None:
            return Searched(None, float("inf"), value)
        labels, bandwidth = self.programme.labels.labels, self.search_of.memories.devices.allreduce_bandwidth
        fronts = Fronts(self.programme, self.micro_batches, bandwidth, table.table, value * (1 + 4 * TIE))
        for final in sorted(finals, key=lambda number: float(table.values[number]) * self._passes(number)):
            nearer = fronts.least(final, value * (1 - TIE))
            if nearer is not None:
                plan = self.search_of.costed(nearer[1])
                if not plan.feasible:
                    return None
                best, value = plan, plan.fill()
        for final in finals:  # of equal plans the one of fewer devices, then of fewer stages
            if (labels[final].devices, labels[final].stages) >= (best.devices_used, len(best.stages)):
                break
            equal = fronts.least(final, value * (1 + 3 * TIE), first=True)
            if equal is not None:
                plan = self.search_of.costed(equal[1])
                return Searched(plan, plan.fill(), value) if plan.feasible else None
        return Searched(best, value, value)

    def _passes(self, label: int) -> int:
        return self.micro_batches + self.programme.labels.labels[label].stages - 1

    def root_bound(self, finals: Sequence[int], upper: float) -> float:
        """Return the bound of all plans below `upper`. Raises OutOfTime."""
        return min(upper, self._least(self._run(ThresholdBox(), upper), finals, ThresholdBox(), upper)[1])

    def _run(self, box: ThresholdBox, value: float) -> LeastValues:
        bandwidth = self.search_of.memories.devices.allreduce_bandwidth
        low, high = box.low, box.high
        rounds = self._rounds(value)

        def cost(row: StageRow, way: StageWay, replicas: Array) -> Array:
            forward = (way.forward + row.in_forward) / replicas
            backward = (way.backward + row.out_backward) / replicas
            within = (forward <= high[0]) & (backward <= high[1])
            exchange = 2 * (replicas - 1) / replicas * row.trainable / bandwidth
            within &= exchange <= high[2]
            passes = numpy.maximum(forward, low[0]) + numpy.maximum(backward, low[1])
            return numpy.where(within, passes + numpy.maximum(exchange, low[2]) / rounds, numpy.inf)

        upper = max(0.0, value - low[2]) / self.micro_batches + low[2] / rounds
        return self.programme.run(cost, upper * (1 + 2 * TIE) if upper > 0 else float("inf"))

    def _least(
        self, table: LeastValues, finals: Sequence[int], box: ThresholdBox, value: float
    ) -> tuple[int | None, float]:
        labels = self.programme.labels.labels
        best, least = None, float("inf")
        rounds = self._rounds(value)
        for final in finals:
            mine = self.micro_batches + labels[final].stages - 1
            if mine > rounds:
                continue
            bound = mine * float(table.values[final]) + (1 - mine / rounds) * box.low[2]
            if bound < least * (1 - TIE):
                best, least = final, bound
        return best, least

    def _children(self, plan: CostedPlan, box: ThresholdBox) -> tuple[ThresholdBox, ...]:
        """Return boxes that together contain the plans of a box; in each the plan's bound is nearer to its value."""
        rows = list(zip(plan.costs, plan.replicas, strict=True))
        forward = [(cost.forward + cost.in_forward) / replicas for cost, replicas in rows]
        backward = [(cost.backward + cost.out_backward) / replicas for cost, replicas in rows]
        exchange = plan.fill_parts()[2]
        slow_forward, slow_backward = forward.index(max(forward)), backward.index(max(backward))
        low_forward = max(forward[slow_backward], box.low[0])
        low_backward = max(backward[slow_forward], box.low[1])
        rounds = self.micro_batches + len(plan.stages) - 1
        rises = [
            (rounds * (max(forward) - low_forward), 0, (max(forward) + low_forward) / 2),
            (rounds * (max(backward) - low_backward), 1, (max(backward) + low_backward) / 2),
            (exchange - box.low[2], 2, (exchange + box.low[2]) / 2),
        ]
        rise, axis, at = max(rises)
        if rise <= TIE * plan.fill() / 10:
            return ()
        below, above = box.split(axis, at)
        return below, *above.split(axis, (max(forward), max(backward), exchange)[axis] * (1 - 1e-13))
