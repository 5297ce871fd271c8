"""Quantities of all stages between two cuts: arrays over the second cut, for one first cut at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy
from numpy.typing import NDArray

from hackathon.parallel.plan.coarsen import Blocks
from hackathon.parallel.plan.cost import transfer_seconds
from hackathon.parallel.plan.devices import Devices

Array = NDArray[Any]


@dataclass
class StageRow:
    """Stages from cut `start` to each of `targets`: seconds and bytes as arrays over the targets."""

    start: int
    targets: Array
    contiguous: bool
    """Whether the targets are start + 1, start + 2, …"""
    forward: Array
    backward: Array
    trainable: Array
    fixed: Array
    saved: Array
    checkpointed: Array
    """Number of operators that must be recomputed; -1: a stage between two zones may have some, or none."""
    in_bytes: Array
    in_forward: Array
    in_backward: Array
    out_forward: Array
    out_backward: Array
    workspace: Array
    largest: Array
    head: Array
    """At least so many seconds before the first forward pass and after the last backward pass of the stage."""
    head_forward: Array
    """At least so many seconds before the first forward pass."""
    own: Array
    """Trainable bytes that no other stage holds."""
    waited: Array
    """1 if all operators behind the stage wait for it, else 0."""
    behind: Array
    """At least so many seconds from a micro-batch's forward pass in the stage to its backward pass there."""

    def final(self) -> "StageRow":
        """Return the stage to the last target alone."""
        arrays = {name: getattr(self, name)[-1:] for name in ARRAYS}
        return StageRow(self.start, self.targets[-1:], False, **arrays)


SUMS = ("forward", "backward", "parameters", "saved", "frozen", "buffers", "checkpointed")
"""Quantities that are summed over the operators of a stage."""
ARRAYS = tuple(name for name in StageRow.__dataclass_fields__ if name not in ("start", "targets", "contiguous"))


class Lattice:
    """Cuts 0 (nothing before it) to `size` − 1 (everything), in an order in which a stage leads to a later one."""

    size: int
    relaxed = False
    """Whether its plans are only bounds: they cost no more than plans of the graph."""

    def __init__(self, blocks: Blocks, devices: Devices) -> None:
        self.blocks, self.devices, self.graph = blocks, devices, blocks.graph
        tensors = [
            tensor
            for tensor in self.graph.tensors
            if any(blocks.of[reader] != blocks.of[tensor.producer] for reader in tensor.readers)
        ]
        self.tensors = tensors
        self.forward_seconds = [transfer_seconds(tensor.bytes, devices) for tensor in tensors]
        self.backward_seconds = [transfer_seconds(tensor.gradient_bytes, devices) for tensor in tensors]
        paths = [_longest_ways(blocks, name) for name in ("forward", "backward")]
        self.forward_heads = [
            paths[0][tensor.producer] + seconds for tensor, seconds in zip(tensors, self.forward_seconds, strict=True)
        ]
        """Tensor → at least so many seconds until it can reach another stage."""
        self.backward_heads = [
            paths[1][tensor.producer] + seconds for tensor, seconds in zip(tensors, self.backward_seconds, strict=True)
        ]
        """Tensor → at least so many seconds from sending its gradient to the end of the step."""
        self.chain = blocks.is_path and len(tensors) == len(blocks) - 1
        """Whether one tensor crosses each cut, from a block to the next one."""
        self.heads = [sum(pair) for pair in zip(self.forward_heads, self.backward_heads, strict=True)]

    def members(self, start: int, end: int) -> tuple[int, ...]:
        """Return the operators between two cuts."""
        raise NotImplementedError

    def row(self, start: int, limit: float = float("inf")) -> StageRow:
        """Return the stages that begin at a cut. Those whose passes take longer than `limit` may be left out."""
        raise NotImplementedError


def _longest_ways(blocks: Blocks, passes: str) -> list[float]:
    """Return, per operator, the seconds of the longest path of forward (or backward) passes that ends with it.

    Operators of one block run one after another, so a path through a block contains all of it.
    """
    operators = blocks.graph.operators
    cost = [sum(getattr(operators[member], passes) for member in members) for members in blocks.members]
    longest = [0.0] * len(blocks)
    for number in range(len(blocks)):
        longest[number] = cost[number] + max((longest[other] for other in blocks.before[number]), default=0.0)
    return [longest[blocks.of[member]] for member in range(len(operators))]


def _longest_after(blocks: Blocks) -> Array:
    """Return, per block, the seconds of the longest path that begins with it, forward and backward."""
    operators = blocks.graph.operators
    tails = numpy.zeros(len(blocks))
    for number in range(len(blocks) - 1, -1, -1):
        passes = sum(operators[member].forward + operators[member].backward for member in blocks.members[number])
        tails[number] = passes + max((tails[follower] for follower in blocks.followers[number]), default=0.0)
    return tails


MOST_COUNTED = 16
"""Most devices for which stages behind a cut are counted."""


class LinearLattice(Lattice):
    """Cuts of one order of blocks, at all positions or at `ends` only."""

    def __init__(
        self, blocks: Blocks, devices: Devices, order: Sequence[int], ends: Sequence[int] | None = None
    ) -> None:
        super().__init__(blocks, devices)
        self._order = order
        ends = list(range(1, len(order) + 1)) if ends is None else list(ends)
        self.size = len(ends) + 1
        self.groups: list[list[int]] = []
        self._place = [0] * len(self.graph.operators)
        start = 0
        for number, end in enumerate(ends, 1):
            group = sorted(member for block in order[start:end] for member in blocks.members[block])
            for member in group:
                self._place[member] = number
            self.groups.append(group)
            start = end
        self._sum()
        self._follow()

    def at(self, ends: Sequence[int]) -> "LinearLattice":
        """Return the same order with cuts at some of its positions only."""
        return LinearLattice(self.blocks, self.devices, self._order, ends)

    def members(self, start: int, end: int) -> tuple[int, ...]:
        return tuple(sorted(member for group in self.groups[start:end] for member in group))

    def passes(self, start: int, end: int) -> float:
        """Return the seconds of one forward and one backward pass of all operators between two cuts."""
        return float(self._passes[end] - self._passes[start])

    def _sum(self) -> None:
        operators = self.graph.operators
        fields: dict[str, Array] = {}
        for name in SUMS:
            sums = [sum(getattr(operators[member], name) for member in group) for group in self.groups]
            fields[name] = numpy.concatenate([[0.0], numpy.cumsum(sums)])
        self._sums = fields
        self._fixed = fields["frozen"] + fields["buffers"]
        self._passes = fields["forward"] + fields["backward"]
        self._workspace = numpy.array([max(operators[member].workspace for member in group) for group in self.groups])
        self._largest = numpy.array([max(operators[member].parameters for member in group) for group in self.groups])

    def _follow(self) -> None:
        """Find which tensors cross each cut, and where they are read."""
        self._readers: list[list[int]] = []
        self._live: list[list[int]] = [[] for _ in range(self.size)]
        crossing: list[list[list[float]]] = [[[] for _ in range(self.size)] for _ in range(2)]
        for number, tensor in enumerate(self.tensors):
            producer = self._place[tensor.producer]
            readers = sorted({self._place[reader] for reader in tensor.readers} - {producer})
            self._readers.append(readers)
            for cut in range(producer, readers[-1] if readers else producer):
                self._live[cut].append(number)
                crossing[0][cut].append(self.forward_seconds[number])
                crossing[1][cut].append(self.backward_seconds[number])
        self._crossing = [numpy.array([sum(seconds) for seconds in cuts]) for cuts in crossing]
        self._ready = self._last_ready()
        if self.chain:  # all that remains lies between a forward and its backward pass
            remaining = self._passes[-1] - self._passes
            self._behind = numpy.maximum(remaining + self._crossing[0] + self._crossing[1], 0.0)
        else:
            self._behind = numpy.maximum(self._least_way(), self._longest_way())
        self._shared = [
            (sorted(self._place[member] for member in alias.operators), alias.bytes) for alias in self.graph.aliases
        ]

    def _last_ready(self) -> Array:
        """Return, per cut, the position of the last block behind it that waits for no block behind it.

        All blocks behind a stage that reaches this position wait for the stage.
        """
        last = numpy.zeros(self.size, int)
        places = [self._place[members[0]] for members in self.blocks.members]
        for block, place in enumerate(places):
            first = max((places[other] for other in self.blocks.before[block]), default=0)
            numpy.maximum(last[first:place], place, out=last[first:place])
        return last

    def _least_way(self) -> Array:
        """Return, per cut, the least passes of stages behind it that wait for each other, over all such stages."""
        counted = self.devices.count <= MOST_COUNTED
        ways = numpy.full((self.devices.count if counted else 1, self.size), numpy.inf)
        ways[:, -1] = 0.0
        for cut in range(self.size - 2, -1, -1):
            passes = numpy.where(numpy.arange(cut + 1, self.size) >= self._ready[cut], self._passes[cut + 1 :], 0.0)
            passes = numpy.maximum(passes - self._passes[cut], 0.0)
            if counted:
                ways[0, cut] = passes[-1]
                ways[1:, cut] = (passes + ways[:-1, cut + 1 :]).min(axis=1)
            else:
                ways[0, cut] = (passes + ways[0, cut + 1 :]).min()
        least: Array = ways.min(axis=0)
        return least

    def _longest_way(self) -> Array:
        """Return, per cut, the longest path through the operators behind it, forward and backward."""
        longest = numpy.zeros(self.size)
        for block, seconds in enumerate(_longest_after(self.blocks)):
            place = self._place[self.blocks.members[block][0]]
            longest[place - 1] = max(longest[place - 1], seconds)
        after: Array = numpy.maximum.accumulate(longest[::-1])[::-1]
        return after

    def crossing(self, cut: int) -> tuple[float, float, float, float, float]:
        """Return bytes, seconds forward and backward, and heads of the one tensor that crosses a cut of a chain."""
        number = self._live[cut][0]
        forward, backward = self.forward_seconds[number], self.backward_seconds[number]
        return self.tensors[number].bytes, forward, backward, self.heads[number], self.forward_heads[number]

    def behind(self, cuts: Array) -> Array:
        """Return `StageRow.behind` of stages that end at cuts."""
        seconds: Array = self._behind[cuts]
        return seconds

    def transfers(self, cuts: Array) -> Array:
        """Return the seconds of all transfers over cuts, forward and backward."""
        seconds: Array = self._crossing[0][cuts] + self._crossing[1][cuts]
        return seconds

    def row(self, start: int, limit: float = float("inf")) -> StageRow:
        stop = self.size
        if limit < float("inf"):
            reach = self._passes[start] + limit * (1 + 1e-9) + 1e-12 * self._passes[-1]
            stop = min(self.size, max(start + 2, int(numpy.searchsorted(self._passes, reach, "right"))))
        count = stop - start - 1
        window = slice(start + 1, stop)
        sums = {name: values[window] - values[start] for name, values in self._sums.items()}
        received = numpy.zeros((5, count))  # bytes, forward, backward, head, head of forward passes
        sent = numpy.array([values[window] for values in self._crossing])
        for number in self._live[start]:
            readers = self._readers[number]
            first = next(reader for reader in readers if reader > start) - start - 1
            tensor = self.tensors[number]
            forward, backward = self.forward_seconds[number], self.backward_seconds[number]
            received[0, first:] += tensor.bytes
            received[1, first:] += forward
            received[2, first:] += backward
            numpy.maximum(received[3, first:], self.heads[number], out=received[3, first:])
            numpy.maximum(received[4, first:], self.forward_heads[number], out=received[4, first:])
            passing = max(0, readers[-1] - start - 1)  # cuts that it crosses although this stage did not make it
            sent[0, :passing] -= forward
            sent[1, :passing] -= backward
        if len(self._live[start]) > 1:
            numpy.maximum(sent, 0.0, out=sent)
        trainable = sums["parameters"]
        for positions, size in self._shared:
            for position in [holder for holder in positions if holder > start][1:]:
                trainable[position - start - 1 :] -= size
        own = trainable.copy() if self._shared else trainable
        for positions, size in self._shared:
            first = next((holder for holder in positions if holder > start), self.size)
            if first < self.size:
                end = positions[-1] if positions[0] > start else self.size
                own[first - start - 1 : max(first, end) - start - 1] -= size
        targets = numpy.arange(start + 1, stop)
        waited = (targets >= self._ready[start]).astype(float)
        return StageRow(
            start, targets, True,
            sums["forward"], sums["backward"], trainable, self._fixed[window] - self._fixed[start], sums["saved"],
            sums["checkpointed"], received[0], received[1], received[2], sent[0], sent[1],
            numpy.maximum.accumulate(self._workspace[start : stop - 1]),
            numpy.maximum.accumulate(self._largest[start : stop - 1]),
            received[3], received[4], own, waited, waited * self._behind[window],
        )  # fmt: skip


class IdealLattice(Lattice):
    """All cuts of a branched graph: each set of blocks that contains the predecessors of its blocks."""

    def __init__(self, blocks: Blocks, devices: Devices, ideals: Sequence[int]) -> None:
        super().__init__(blocks, devices)
        self.size = len(ideals)
        self._inside = numpy.array([[ideal >> n & 1 for n in range(len(blocks))] for ideal in ideals], dtype=bool)
        self._rows: dict[int, StageRow] = {}
        of = blocks.of
        inside = self._inside
        self._made = inside[:, [of[tensor.producer] for tensor in self.tensors]]
        self._read = numpy.array(
            [inside[:, [of[reader] for reader in tensor.readers]].sum(axis=1) for tensor in self.tensors]
        ).reshape(len(self.tensors), self.size)
        self._needed = self._read < numpy.array([len(tensor.readers) for tensor in self.tensors], dtype=int)[:, None]
        crosses = (self._made.T & self._needed).astype(float)
        self._crossing = numpy.array([self.forward_seconds, self.backward_seconds]) @ crosses

    @cached_property
    def _sums(self) -> dict[str, Array]:
        operators = self.graph.operators
        per_block = {
            name: numpy.array(
                [sum(getattr(operators[member], name) for member in members) for members in self.blocks.members]
            )
            for name in SUMS
        }
        return {name: self._inside @ values for name, values in per_block.items()}

    @cached_property
    def _most(self) -> tuple[Array, Array]:
        operators = self.graph.operators
        return tuple(  # type: ignore[return-value]
            numpy.array(
                [max(getattr(operators[member], name) for member in members) for members in self.blocks.members]
            )
            for name in ("workspace", "parameters")
        )

    def members(self, start: int, end: int) -> tuple[int, ...]:
        between = numpy.flatnonzero(self._inside[end] & ~self._inside[start])
        return tuple(sorted(member for block in between for member in self.blocks.members[block]))

    def row(self, start: int, limit: float = float("inf")) -> StageRow:
        if start not in self._rows:
            self._rows[start] = self._made_row(start)
        return self._rows[start]

    def _made_row(self, start: int) -> StageRow:
        mine = self._inside[start]
        later = self._inside[start + 1 :]
        targets = start + 1 + numpy.flatnonzero(later[:, mine].all(axis=1))
        between = self._inside[targets] & ~mine
        sums = {name: values[targets] - values[start] for name, values in self._sums.items()}
        count = len(targets)
        received = numpy.zeros((5, count))
        sent = self._crossing[:, targets]
        for number in numpy.flatnonzero(self._made[start] & self._needed[:, start]):
            tensor = self.tensors[number]
            forward, backward = self.forward_seconds[number], self.backward_seconds[number]
            reads = self._read[number, targets] > self._read[number, start]
            received[0] += tensor.bytes * reads
            received[1] += forward * reads
            received[2] += backward * reads
            numpy.maximum(received[3], self.heads[number] * reads, out=received[3])
            numpy.maximum(received[4], self.forward_heads[number] * reads, out=received[4])
            passing = self._needed[number, targets]
            sent[0] -= forward * passing
            sent[1] -= backward * passing
        numpy.maximum(sent, 0.0, out=sent)
        trainable = sums["parameters"]
        own = trainable.copy()
        for alias in self.graph.aliases:
            holders = between[:, [self.blocks.of[member] for member in alias.operators]].sum(axis=1)
            trainable -= numpy.maximum(holders - 1, 0) * alias.bytes
            complete = holders == len(alias.operators)
            own -= numpy.where(complete, holders - 1, holders) * alias.bytes
        workspace, largest = ((between * maxima).max(axis=1) for maxima in self._most)
        waited = self._waited(start, targets)
        return StageRow(
            start, targets, False,
            sums["forward"], sums["backward"], trainable, sums["frozen"] + sums["buffers"], sums["saved"],
            sums["checkpointed"], received[0], received[1], received[2], sent[0], sent[1], workspace, largest,
            received[3], received[4], own, waited, waited * self._tails[targets],
        )  # fmt: skip

    @cached_property
    def _tails(self) -> Array:
        """Per cut, the seconds of the longest path through the operators behind it, forward and backward."""
        longest: Array = (~self._inside * _longest_after(self.blocks)).max(axis=1)
        return longest

    def _waited(self, start: int, targets: Array) -> Array:
        """Return 1 if a stage has every block that waits for no block behind its first cut, else 0.

        Each block behind the stage then waits for one of them.
        """
        mine = self._inside[start]
        ready = [block for block, before in enumerate(self.blocks.before) if not mine[block] and mine[before].all()]
        waited: Array = self._inside[targets][:, ready].all(axis=1).astype(float)
        return waited


class RelaxedLattice(Lattice):
    """Cuts of a chain grouped in zones: a stage from one zone to another costs no more than any stage between them.

    A plan of the chain becomes one of the zones if each cut moves into its zone and stages within a zone are left out.
    So the least value over zones is a lower bound of the least value over cuts.
    """

    def __init__(self, full: LinearLattice, zones: int) -> None:
        super().__init__(full.blocks, full.devices)
        self._full, self.relaxed = full, True
        ends = [int(end) for end in numpy.unique(numpy.linspace(0, full.size - 2, zones + 1).round())]
        self._low = numpy.array([0, *(end + 1 for end in ends[:-1]), full.size - 1])
        self._high = numpy.array([0, *ends[1:], full.size - 1])
        self.size = len(self._low)
        crossing = [full.crossing(cut) for cut in range(1, full.size - 1)]
        columns = {"in_bytes": 0, "in_forward": 1, "in_backward": 2, "head": 3, "head_forward": 4}
        self._least: dict[str, Array] = {}
        for name, column in columns.items():
            values = numpy.array([0.0, *(row[column] for row in crossing), 0.0])
            zones_of = zip(self._low, self._high, strict=True)
            self._least[name] = numpy.array([values[low : high + 1].min() for low, high in zones_of])

        self._least_behind = full.behind(self._high) - full.transfers(self._high)
        self._least_behind += self._least["in_forward"] + self._least["in_backward"]

    def row(self, start: int, limit: float = float("inf")) -> StageRow:
        base = self._full.row(int(self._high[start]), limit)
        positions = self._low[start + 1 :] - self._high[start] - 1
        positions = positions[positions < len(base.targets)]
        if not len(positions):
            positions = self._low[start + 1 : start + 2] - self._high[start] - 1
            base = self._full.row(int(self._high[start]))
        targets = numpy.arange(start + 1, start + 1 + len(positions))
        values = {name: getattr(base, name)[positions] for name in ARRAYS}
        if any(operator.checkpointed for operator in self._full.graph.operators):
            values["checkpointed"] = numpy.where(values["checkpointed"] > 0, values["checkpointed"], -1.0)
        for name, least in self._least.items():
            values[name] = numpy.full(len(positions), least[start])
        values["out_forward"] = self._least["in_forward"][targets]
        values["out_backward"] = self._least["in_backward"][targets]
        values["behind"] = self._least_behind[targets]
        return StageRow(start, targets, True, **values)
