"""The plan of least `fill` near a good one: all first stages of plans, as fronts without dominated ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from hackathon.parallel.plan.cost import Stage
from hackathon.parallel.plan.lattice import Array, StageRow
from hackathon.parallel.plan.passes import Programme, StageWay

MOST_ENTRIES = 60_000
"""Most beginnings for one number of devices and stages; with more, other searches are faster."""


class TooManyEntries(Exception):
    """There are more entries in the fronts than the search can store."""


@dataclass(frozen=True)
class Beginning:
    """The first stages of a plan: seconds of the slowest of them, and the choices that led to them."""

    forward: float
    backward: float
    exchange: float
    before: "Beginning | None" = None
    stage: tuple[int, int, int, bool, bool] | None = None
    """(cut, cut, replicas, recompute, offload) of the last stage."""

    def stages(self) -> list[tuple[int, int, int, bool, bool]]:
        """Return the stages, first to last."""
        stages, at = [], self
        while at.stage is not None and at.before is not None:
            stages.append(at.stage)
            at = at.before
        return stages[::-1]


class Fronts:
    """Beginnings of plans in the order of cuts, stored if their best possible end gives less than a value.

    Three tables over labels and cuts bound the end: the least max f, the least max b, and the least max of f + b + A /
    Q of the stages behind a cut (`whole`). A beginning is dropped if another one with the same cut and label is as good
    in max f, max b and all-reduce, since with every end the first one costs at least as much.
    """

    def __init__(self, programme: Programme, micro_batches: int, bandwidth: float, table: Array, value: float) -> None:
        """`value`: only better plans are searched. Raises OutOfTime."""
        self.programme, self.lattice = programme, programme.lattice
        self.micro_batches, self.bandwidth = micro_batches, bandwidth
        self.upper = value / micro_batches if value > 0 else float("inf")
        self.whole = table
        self.forward = programme.run(self._part(0), self.upper).table
        self.backward = programme.run(self._part(1), self.upper).table
        self.steps: dict[int, list[tuple[int, int, int]]] = {}
        for group in programme.labels.groups:
            for source, target in zip(group.sources, group.targets, strict=True):
                self.steps.setdefault(target, []).append((source, group.replicas, group.held))

    def parts(self, row: StageRow, way: StageWay, replicas: Array) -> tuple[Array, Array, Array]:
        """Return f, b and A of stages."""
        forward = (way.forward + row.in_forward) / replicas
        backward = (way.backward + row.out_backward) / replicas
        return forward, backward, 2 * (replicas - 1) / replicas * row.trainable / self.bandwidth

    def _part(self, number: int) -> Any:
        def cost(row: StageRow, way: StageWay, replicas: Array) -> Array:
            parts = self.parts(row, way, replicas)
            near: Array = numpy.where(parts[0] + parts[1] < self.upper, parts[number], numpy.inf)
            return near

        return cost

    def least(self, label: int, value: float, *, first: bool = False) -> tuple[float, list[Stage]] | None:
        """Return value and stages of the best plan with a label and a value below `value`; None if there is none.

        With `first`, return any such plan. Raises TooManyEntries.
        """
        rounds = self.micro_batches + self.programme.labels.labels[label].stages - 1
        if rounds * self.whole[label, 0] >= value:
            return None
        waiting: dict[int, dict[int, list[Beginning]]] = {0: {label: [Beginning(0.0, 0.0, 0.0)]}}
        best: Beginning | None = None
        count = 0
        for cut in range(self.lattice.size - 1):
            for state, entries in waiting.pop(cut, {}).items():
                front = _front(entries)
                count += len(front)
                if count > MOST_ENTRIES:
                    raise TooManyEntries
                row = self.lattice.row(cut, self.programme.limit(self.upper))
                for source, replicas, depth in self.steps[state]:
                    for way in self.programme.memories.choices(row, depth):
                        for target, entry in self._continued(row, way, replicas, source, front, rounds, value):
                            if source:
                                waiting.setdefault(target, {}).setdefault(source, []).append(entry)
                                continue
                            mine = rounds * (entry.forward + entry.backward) + entry.exchange
                            if mine < value:
                                best, value = entry, mine
                                if first:
                                    return value, self._stages(best)
        return (value, self._stages(best)) if best is not None else None

    def _continued(
        self, row: StageRow, way: StageWay, replicas: int, source: int, front: Sequence[Beginning], rounds: int,
        value: float,
    ) -> list[tuple[int, Beginning]]:  # fmt: skip
        """Return (cut, beginning) with one more stage, if its best possible end may stay below a value."""
        behind = self.whole[source, row.targets]
        near = numpy.flatnonzero(way.fits & (rounds * behind < value))
        if not len(near):
            return []
        targets = row.targets[near]
        parts = [part[near] for part in self.parts(row, way, numpy.array(replicas))]
        maxima = numpy.array([[beginning.forward, beginning.backward, beginning.exchange] for beginning in front])
        forward, backward, exchange = (numpy.maximum(maxima[:, number, None], parts[number]) for number in range(3))
        passes = numpy.maximum(forward, self.forward[source, targets]) + numpy.maximum(
            backward, self.backward[source, targets]
        )
        continuations = []
        for number, at in zip(*numpy.nonzero(rounds * passes + exchange < value), strict=True):
            stage = (row.start, int(targets[at]), replicas, way.recompute, way.offload)
            slowest = (float(forward[number, at]), float(backward[number, at]), float(exchange[number, at]))
            continuations.append((stage[1], Beginning(*slowest, front[number], stage)))
        return continuations

    def _stages(self, beginning: Beginning) -> list[Stage]:
        return [
            Stage(self.lattice.members(start, end), replicas, recompute, offload)
            for start, end, replicas, recompute, offload in beginning.stages()
        ]


def _front(entries: Sequence[Beginning]) -> list[Beginning]:
    """Return the entries that no other entry equals or beats in all three times."""
    front: list[Beginning] = []
    for beginning in sorted(entries, key=lambda entry: (entry.forward, entry.backward, entry.exchange)):
        if not any(other.backward <= beginning.backward and other.exchange <= beginning.exchange for other in front):
            front.append(beginning)
    return front
