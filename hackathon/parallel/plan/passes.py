"""The dynamic programme over cuts and labels that minimises the largest cost of a stage, or the bound of a step."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy

from hackathon.parallel.plan.cost import MODES, SLACK, Stage
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.labels import Group, Labels
from hackathon.parallel.plan.lattice import Array, Lattice, StageRow


class OutOfTime(Exception):
    """The search has used the time that the user allows."""


@dataclass(frozen=True)
class StageWay:
    """One way to run a stage: seconds over a row's targets, and where it fits."""

    recompute: bool
    offload: bool
    forward: Array
    backward: Array
    fits: Array
    ahead: Array | None = None
    """Most forward passes before the first backward pass, a column like that of replicas; None: not counted."""


@dataclass(frozen=True)
class Memories:
    """The methods of saving memory that a plan may use."""

    devices: Devices
    recompute: str = "never"
    offload: str = "never"

    def choices(self, row: StageRow, depth: int | Array) -> list[StageWay]:
        """Return the ways to run the stages of a row with `depth` micro-batches in flight, faster ones first.

        If `depth` is a column of numbers, `fits` has a row for each. A stage with an
        operator that must be recomputed recomputes in every mode.
        """
        optimizer = self.devices.optimizer_bytes_per_parameter_byte
        choices = []
        modes, forced = MODES[self.recompute], bool(row.checkpointed.any())
        for offload in MODES[self.offload]:
            for recompute in (False, True) if forced else modes:
                forward = row.forward
                backward = row.backward + row.forward if recompute else row.backward
                states = (2 + optimizer) * row.trainable
                if offload:
                    host = self.devices.host_bandwidth or float("inf")
                    forward = numpy.maximum(forward, row.trainable / host)
                    backward = numpy.maximum(backward, 2 * row.trainable / host)
                    states = 3 * row.largest
                activations = depth * row.in_bytes + (row.saved if recompute else depth * row.saved)
                total = states + row.fixed + activations + row.workspace
                fit = total <= self.devices.memory * (1 + SLACK)
                if forced:
                    can = recompute in modes
                    fit &= (row.checkpointed != 0) | can if recompute else (row.checkpointed <= 0) & can
                choices.append(StageWay(recompute, offload, forward, backward, fit))
        return choices


Cost = Callable[[StageRow, StageWay, Array], Array]
"""(row, way to run, replicas as a column) → cost at each target; infinite if it is not allowed."""


@dataclass
class LeastValues:
    """The least value of each label for the entire graph; `plan` returns its stages."""

    values: Array
    plan: Callable[[int], list[Stage]]
    table: Array
    """[label][cut] → the least value of the stages from a cut on."""


class _Steps:
    """Steps that place a stage anywhere (or, with `last`, at the end), as arrays: groups, and labels by replicas."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.replicas, self.held, self.ahead = (
            numpy.array([[getattr(group, name)] for group in groups]) for name in ("replicas", "held", "ahead")
        )
        self.by_replicas: list[tuple[Array, Array, Array, Array, bool]] = []
        """Numbers of groups; then a row for each step: its group's position among them, sources, targets; unique."""
        for replicas in sorted({group.replicas for group in groups}):
            mine = [number for number, group in enumerate(groups) if group.replicas == replicas]
            steps = [
                (position, source, target)
                for position, number in enumerate(mine)
                for source, target in zip(groups[number].sources, groups[number].targets, strict=True)
            ]
            positions, sources, targets = (numpy.array(column) for column in zip(*steps, strict=True))
            unique = len(set(targets.tolist())) == len(steps)
            self.by_replicas.append((numpy.array(mine), positions, sources, targets, unique))


class Programme:
    """A dynamic programme from the last stage to the first: value = max(cost, shift + value of the stages behind)."""

    def __init__(self, lattice: Lattice, memories: Memories, labels: Labels, deadline: float) -> None:
        self.lattice, self.memories, self.labels, self.deadline = lattice, memories, labels, deadline
        self._last = _Steps([group for group in labels.groups if group.last])
        self._other = _Steps([group for group in labels.groups if not group.last])
        self._most = max((group.replicas for group in labels.groups), default=1)

    def limit(self, upper: float, reach: float = 1.0) -> float:
        """Return the seconds of passes above which no stage has a cost below `upper`."""
        return upper * self._most / reach

    def run(
        self, cost: Cost, upper: float = float("inf"), shift: Cost | None = None, reach: float = 1.0
    ) -> LeastValues:
        """Return the least values below `upper`. `reach`: passes of a stage, over replicas, that its cost counts.

        Raises OutOfTime.
        """
        size = self.lattice.size
        values = numpy.full((len(self.labels), size), numpy.inf)
        values[0, size - 1] = 0.0
        limit = self.limit(upper, reach)
        for start in range(size - 2, -1, -1):
            if not start % 16 and time.monotonic() > self.deadline:
                raise OutOfTime
            row = self.lattice.row(start, limit)
            if self._last.groups and row.targets[-1] == size - 1:
                costs, _ = self._least(row.final(), self._last, cost, None)
                for mine, positions, _, targets, _ in self._last.by_replicas:
                    numpy.minimum.at(values[:, start], targets, costs[mine[positions], 0])
            if self._other.groups:
                costs, shifts = self._least(row, self._other, cost, shift)
                for mine, *steps, unique in self._other.by_replicas:
                    _place(row, costs[mine], None if shifts is None else shifts[mine], steps, unique, values, upper)
        return LeastValues(values[:, 0], lambda label: self._trace(values, label, cost, shift, limit), values)

    def _least(self, row: StageRow, steps: _Steps, cost: Cost, shift: Cost | None) -> tuple[Array, Array | None]:
        """Return [group][target] → cost, and [group][target] → shift: the least over all ways to run that fit."""
        costs = shifts = None
        for plain in self.memories.choices(row, steps.held):
            way = replace(plain, ahead=steps.ahead)
            mine = numpy.where(way.fits, cost(row, way, steps.replicas), numpy.inf)
            costs = mine if costs is None else numpy.minimum(costs, mine)
            if shift is not None:
                more = numpy.where(way.fits, shift(row, way, steps.replicas), numpy.inf)
                shifts = more if shifts is None else numpy.minimum(shifts, more)
        assert costs is not None
        return costs, shifts

    def _trace(self, values: Array, label: int, cost: Cost, shift: Cost | None, limit: float) -> list[Stage]:
        """Return the stages of a plan with the value of a label."""
        start, stages = 0, []
        while start < self.lattice.size - 1:
            row = self.lattice.row(start, limit)
            target, source, group = self._step(values, start, label, row, cost, shift)
            at = int(numpy.searchsorted(row.targets, target))
            column, ahead = numpy.array([[group.replicas]]), numpy.array([[group.ahead]])
            choices = self.memories.choices(row, group.held)
            options = [replace(choice, ahead=ahead) for choice in choices if choice.fits[at]]
            best = min(
                options,
                key=lambda way: (
                    cost(row, way, column)[0, at], way.forward[at] + way.backward[at],
                ),
            )  # fmt: skip
            stages.append(Stage(self.lattice.members(start, target), group.replicas, best.recompute, best.offload))
            start, label = target, source
        return stages

    def _step(
        self, values: Array, start: int, label: int, row: StageRow, cost: Cost, shift: Cost | None
    ) -> tuple[int, int, Group]:
        """Return (cut, label) behind the stage that leads to a label's value, and the group of the step."""
        value = values[label, start]
        for steps in (self._last, self._other):
            if not steps.groups:
                continue
            costs, shifts = self._least(row, steps, cost, shift)
            for number, group in enumerate(steps.groups):
                for source, target in zip(group.sources, group.targets, strict=True):
                    if target != label:
                        continue
                    behind = values[source, row.targets] + (shifts[number] if shifts is not None and source else 0.0)
                    hits = numpy.flatnonzero(numpy.maximum(costs[number], behind) <= value)
                    if len(hits):
                        return int(row.targets[hits[0]]), source, group
        raise AssertionError("a label without a stage")


def _place(
    row: StageRow, costs: Array, shifts: Array | None, steps: Sequence[Array], unique: bool, values: Array,
    upper: float,
) -> None:  # fmt: skip
    """Place stages with the same number of replicas, of each length, before those already placed."""
    near = (costs.min(axis=0) < upper).nonzero()[0]
    if not len(near):
        return
    low, high = int(near[0]), int(near[-1]) + 1
    positions, sources, targets = steps
    behind = (
        values[sources, row.start + 1 + low : row.start + 1 + high]
        if row.contiguous
        else values[sources[:, None], row.targets[low:high]]
    )
    mine = costs[:, low:high] if len(costs) == 1 else costs[positions, low:high]
    if shifts is not None:
        behind = behind + (shifts[:, low:high] if len(costs) == 1 else shifts[positions, low:high])
    least = numpy.maximum(behind, mine).min(axis=1)
    if unique:
        values[targets, row.start] = numpy.minimum(values[targets, row.start], least)
    else:
        numpy.minimum.at(values[:, row.start], targets, least)
