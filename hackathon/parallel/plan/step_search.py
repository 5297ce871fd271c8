"""The plan of least simulated step time: bound and simulate, stage by stage from the last one to the first."""

import heapq
import time
from dataclasses import dataclass, replace
from itertools import count

import numpy

from hackathon.parallel.plan.cost import CostedPlan, Stage, allreduce_seconds
from hackathon.parallel.plan.labels import Shape
from hackathon.parallel.plan.lattice import ARRAYS, Array, Lattice, StageRow
from hackathon.parallel.plan.order import in_flight, warm_up_before
from hackathon.parallel.plan.passes import Cost, OutOfTime, StageWay
from hackathon.parallel.plan.search import TIE, Search, Searched
from hackathon.parallel.plan.simulation import Timing, pass_ends, simulate

MOST_NODES = 1_500_000
"""Most waiting partial plans; more would need gigabytes."""


@dataclass(frozen=True)
class WorkCost:
    """A stage's lower bound of the step: its passes with their waiting, and what certainly comes before and after.

    A rank makes n = ceil(m / r) passes in each direction, at most a forward ones before the first backward one. The
    first and the last backward pass wait for the path through the stages behind. If a is not counted, n · (F + B)
    remains.

    With `heads`, the path to the stage and back counts, or the path to it and the all-reduce of its own parameters;
    without, `exchange` is the weight of the all-reduce, and `WayShift` adds what comes before.
    """

    micro_batches: int
    bandwidth: float
    heads: bool = True
    exchange: float = 1.0

    def __call__(self, row: StageRow, way: StageWay, replicas: Array) -> Array:
        work = self._passes(row, way, -(-self.micro_batches // replicas))
        after = 2 * (replicas - 1) / replicas * row.own / self.bandwidth
        if self.heads:
            total: Array = numpy.maximum(work + row.head, work + row.head_forward + after)
        else:
            total = work + self.exchange * after
        return total

    @staticmethod
    def _passes(row: StageRow, way: StageWay, rounds: Array) -> Array:
        forward, backward, ahead = way.forward, way.backward, way.ahead
        work: Array = rounds * (forward + backward)
        if ahead is None or not ahead.all():
            return work
        until, since = forward + row.behind, backward + row.behind
        many = numpy.maximum(ahead * forward, until) + (rounds - ahead) * (forward + backward)
        many = many + numpy.maximum(ahead * backward, since)
        few = numpy.maximum(
            numpy.maximum(rounds * forward, until) + rounds * backward,
            rounds * forward + numpy.maximum(rounds * backward, since),
        )
        passes: Array = numpy.where(rounds > ahead, many, few)
        return passes


@dataclass(frozen=True)
class WayShift:
    """A stage's addition to the path of those behind it, if they wait for it: forward, and backward with a weight."""

    backward: float
    transfers: bool = True
    """Whether the stage sends one tensor, as in a chain."""

    def __call__(self, row: StageRow, way: StageWay, replicas: Array) -> Array:
        shift: Array = way.forward + self.backward * way.backward
        if self.transfers:
            shift = shift + row.out_forward + self.backward * row.out_backward
        return shift * row.waited


@dataclass
class PartialPlan:
    """The last stages of a plan, from cut `start` on."""

    start: int
    devices: int
    product: int
    way: float
    """The bound of these stages from the begin of the first."""
    stages: tuple[tuple[int, int, int, bool, bool], ...]
    """(cut, cut, replicas, recompute, offload) of each."""
    looked: bool = False
    """Whether a simulation of these stages gave the bound."""


class StepSearch:
    """Best-first search over plans on one lattice, whose possible stages are all computed in advance.

    A partial plan contains the last stages, because the order and the memory of a stage depend on those behind it. Its
    bound is the largest of: the simulation of these stages without what comes before; the shortest path through what
    comes before; the least work of a stage in the rest, on the remaining devices.
    """

    def __init__(self, search: Search, shape: Shape) -> None:
        lattice, memories = search.lattice, search.memories
        self.lattice, self.memories, self.shape, self.costed = lattice, memories, shape, search.costed
        self.deadline, self.effort = search.deadline, search.effort
        self.micro_batches = shape.micro_batches
        self.chain = lattice.chain
        self.every_way = (
            len(lattice.graph.aliases) > 1
        )  # several shared parameters: a faster stage may end a step later
        self._columns = _columns(lattice)
        self._bandwidth = memories.devices.allreduce_bandwidth
        self._work = self._prefix_work()

    def _prefix_work(self) -> Array:
        """Return [devices][cut] → the least work of the busiest stage before a cut on so many devices."""
        size, devices = self.lattice.size, self.shape.devices
        work = numpy.full((devices + 1, size), numpy.inf)
        work[:, 0] = 0.0
        cost = WorkCost(self.micro_batches, self._bandwidth)
        for end in range(1, size):
            row = self._columns[end]
            for replicas in range(1, min(devices, self.micro_batches) + 1):
                column = numpy.array([replicas])
                depth = in_flight(2 if end < size - 1 else 1, replicas, self.micro_batches)
                choices = self.memories.choices(row, depth)
                costs = numpy.min([numpy.where(way.fits, cost(row, way, column), numpy.inf) for way in choices], axis=0)
                before = work[: devices + 1 - replicas, row.targets]
                least = numpy.maximum(before, costs).min(axis=1)
                numpy.minimum(work[replicas:, end], least, out=work[replicas:, end])
        return work

    def search(self, start: CostedPlan | None, upper: float) -> Searched:
        """Return the best plan of at most `upper` (or `start`, if none is better) and a bound of all plans."""
        best, value = start, upper
        numbers = count()
        size = self.lattice.size
        heap: list[tuple[float, int, int, PartialPlan]] = [
            (0.0, size - 1, next(numbers), PartialPlan(size - 1, 0, 0, 0.0, ()))
        ]
        while heap:
            bound, _, _, node = heap[0]
            if bound > value or (best is not None and bound >= value * (1 - TIE)):
                break
            if len(heap) > MOST_NODES or time.monotonic() > self.deadline or not self.effort.spend():
                return Searched(best, value, min(bound, value))
            heapq.heappop(heap)
            if node.start == 0:
                plan = self.costed(self._stages(node))
                seconds = simulate(plan).seconds
                if plan.feasible and (seconds < value or (best is None and seconds <= value)):
                    best, value = plan, seconds
                continue
            if not node.looked and len(node.stages) > 1:
                node.looked = True
                length = self._simulated(node)
                if length > bound:
                    if length <= value:
                        heapq.heappush(heap, (length, node.start, next(numbers), node))
                    continue
            for child_bound, child in self._children(node, bound, value):
                heapq.heappush(heap, (child_bound, child.start, next(numbers), child))
        return Searched(best, value if best is not None else float("inf"), value)

    def _children(self, node: PartialPlan, bound: float, value: float) -> list[tuple[float, PartialPlan]]:
        """Return the partial plans with one more stage whose bound is at most the best value."""
        row = self._columns[node.start]
        last = not node.stages
        children = []
        total, shift = WorkCost(self.micro_batches, self._bandwidth), WayShift(1.0, self.chain)
        alone = WorkCost(self.micro_batches, self._bandwidth, heads=False, exchange=0.0)
        for replicas in self.shape.choices(len(node.stages), node.devices):
            warm_up = 1 if last else warm_up_before(node.product, replicas)
            choices = self.memories.choices(row, in_flight(warm_up, replicas, self.micro_batches))
            taken: list[StageWay] = []
            column = numpy.array([replicas])
            devices = node.devices + replicas
            for way in choices:
                allowed = way.fits
                if not self.every_way:
                    for other in taken:
                        allowed = allowed & ~(
                            other.fits & (other.forward <= way.forward) & (other.backward <= way.backward)
                        )
                taken.append(way)
                if not allowed.any():
                    continue
                work = alone(row, way, column)
                if not last:  # those behind that wait for the stage end as much later
                    after = numpy.where(row.waited > 0, shift(row, way, column) + node.way, 0.0)
                    work = numpy.maximum(work, after)
                bounds = numpy.maximum(numpy.maximum(work + row.head, total(row, way, column)), bound)
                bounds = numpy.maximum(bounds, self._work[self.shape.devices - devices, row.targets])
                for at in numpy.flatnonzero(allowed & (bounds <= value)):
                    start = int(row.targets[at])
                    if start == 0 and not self.shape.complete(len(node.stages) + 1):
                        continue
                    stage = (start, node.start, replicas, way.recompute, way.offload)
                    child = PartialPlan(start, devices, warm_up * replicas, float(work[at]), (stage, *node.stages))
                    children.append((float(bounds[at]), child))
        return children

    def _stages(self, node: PartialPlan) -> list[Stage]:
        return [
            Stage(self.lattice.members(start, end), replicas, recompute, offload)
            for start, end, replicas, recompute, offload in node.stages
        ]

    def _simulated(self, node: PartialPlan) -> float:
        """Return the least time of a step with these last stages, whatever comes before them."""
        stages = self._stages(node)
        remaining = tuple(
            sorted(set(range(len(self.lattice.graph.operators))).difference(*(stage.operators for stage in stages)))
        )
        # one stage represents what comes before; only tensors from it count
        plan = self.costed([Stage(remaining, 1), *stages])
        count_ = len(stages)
        senders: list[list[tuple[int, float]]] = [[] for _ in stages]
        readers: list[list[tuple[int, float]]] = [[] for _ in stages]
        for link in plan.links:
            if link.sender > 0:
                senders[link.reader - 1].append((link.sender - 1, link.forward))
                readers[link.sender - 1].append((link.reader - 1, link.backward))
        release, tail = [0.0] * count_, [0.0] * count_
        for number, tensor in enumerate(self.lattice.tensors):
            if plan.place[tensor.producer] > 0:
                continue
            for stage in {plan.place[reader] for reader in tensor.readers} - {0}:
                release[stage - 1] = max(release[stage - 1], self.lattice.forward_heads[number])
                tail[stage - 1] = max(tail[stage - 1], self.lattice.backward_heads[number])
        costs = plan.costs[1:]
        timing = Timing(
            [cost.forward for cost in costs], [cost.backward for cost in costs], plan.replicas[1:],
            plan.warm_ups[1:], senders, readers, release,
        )  # fmt: skip
        _, ends = pass_ends(timing, self.micro_batches)
        own = [0.0] * count_
        for exchange in plan.exchanges:
            if len(exchange.stages) == 1 and exchange.stages[0] > 0:
                stage = exchange.stages[0] - 1
                own[stage] = allreduce_seconds(exchange.ranks, exchange.bytes, self.memories.devices)
        return max(max(ends[s]) + max(tail[s], own[s]) for s in range(count_))


def _columns(lattice: Lattice) -> list[StageRow]:
    """Return, per cut, all stages that end there: `targets` are the cuts at which they begin."""
    size = lattice.size
    mask = numpy.zeros((size, size), bool)
    tables = {name: numpy.zeros((size, size)) for name in ARRAYS}
    for start in range(size - 1):
        row = lattice.row(start)
        mask[start, row.targets] = True
        for name, values in tables.items():
            values[start, row.targets] = getattr(row, name)
    columns = []
    for end in range(size):
        starts = numpy.flatnonzero(mask[:, end])
        columns.append(StageRow(end, starts, False, **{name: values[starts, end] for name, values in tables.items()}))
    return columns


def least_step(search: Search, start: CostedPlan | None) -> Searched:
    """Return the plan of least step time; of equal ones that of fewest devices, then of fewest stages.

    When the time is over, return the best plan so far and a bound of all plans.
    """
    upper = simulate(start).seconds if start is not None else float("inf")
    outcome = StepSearch(search, search.shape).search(start, upper)
    bound = min(outcome.bound, outcome.value)
    while outcome.plan is not None and outcome.closed and not search.shape.fixed:
        smaller = _smaller(search, outcome.plan, outcome.value * (1 + TIE))
        if smaller is None:
            break
        outcome = Searched(smaller, simulate(smaller).seconds, bound)
    return Searched(outcome.plan, outcome.value, min(bound, outcome.value))


def _smaller(search: Search, plan: CostedPlan, upper: float) -> CostedPlan | None:
    """Return a plan of at most `upper` with fewer devices than another one, or with as many and fewer stages."""
    devices, stages = plan.devices_used, len(plan.stages)
    shapes = [replace(search.shape, devices=devices - 1)] if devices > 1 else []
    shapes += [replace(search.shape, devices=devices, most_stages=stages - 1)] if stages > 1 else []
    for shape in shapes:
        candidate = StepSearch(search, shape).search(None, upper).plan
        if candidate is not None:
            return candidate
    return None


def bound_of_steps(search: Search, upper: float, *, by_stages: bool) -> tuple[float, list[list[Stage]]]:
    """Return a lower bound of the step time of all plans of a lattice, and the plans with the least bounds.

    In a chain: min over plans of max over s of Σ_{t<s}(F_t+B_t+2c_t) + ceil(m/r_s)(F_s+B_s), exact but for memory;
    in another graph the path to a stage is the longest one through operators, or the stages before it for which all
    that follows waits. Raises OutOfTime and TooManyLabels.
    """
    ahead = "vanishing" if search.relaxed else "plan"
    memory = "exact" if search.shape.fixed and not search.relaxed else "least"
    programme = search.programme(search.shape, memory, by_stages=by_stages, ahead=ahead)
    micro_batches, bandwidth = search.shape.micro_batches, search.memories.devices.allreduce_bandwidth
    chain = search.lattice.chain
    costs: list[tuple[WorkCost, Cost | None]] = [] if chain else [(WorkCost(micro_batches, bandwidth), None)]
    # after the last pass of a stage come the path back and its all-reduce: each mean of the two is a bound
    costs += [
        (WorkCost(micro_batches, bandwidth, heads=False, exchange=1 - weight), WayShift(weight, chain))
        for weight in ((1.0, 0.75, 0.5, 0.25, 0.0) if chain else (1.0, 0.5))
    ]
    bound, plans = 0.0, []
    for number, (cost, shift) in enumerate(costs):
        try:
            table = programme.run(cost, upper, shift, reach=micro_batches)
        except OutOfTime:
            if not number:
                raise
            break
        finals = [label for label in programme.labels.finals() if table.values[label] < upper]
        finals.sort(key=lambda label, values=table.values: float(values[label]))  # type: ignore[misc]
        plans += [] if search.relaxed else [table.plan(label) for label in finals]
        bound = max(bound, min([upper] + [float(table.values[label]) for label in finals]))
        if bound >= upper:
            break
    return bound, plans
