"""The cost of a stage: seconds of its passes and transfers, bytes of its memory. Formulas for one given plan."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.graph import Graph
from hackathon.parallel.plan.order import in_flight, warm_ups

MODES = {"never": (False,), "auto": (False, True), "all": (True,)}
"""Mode of a method that saves memory → whether a stage may run without it, or with it."""
SLACK = 1e-12
"""Allowed relative rounding when sums are compared."""


@dataclass(frozen=True)
class Stage:
    """Operators (positions in `Graph.operators`) that run on `replicas` devices, all of them on each."""

    operators: tuple[int, ...]
    replicas: int
    recompute: bool = False
    offload: bool = False


def runs_as(stage: Stage, graph: Graph, mode: str) -> bool:
    """Return whether a mode allows a stage to recompute or not as it does; some operators always require it."""
    if any(graph.operators[member].checkpointed for member in stage.operators):
        return stage.recompute
    return stage.recompute in MODES[mode]


@dataclass(frozen=True)
class StageMemory:
    """Bytes on one device of a stage. Frozen parameters count as `parameters`."""

    parameters: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    workspace: float

    @property
    def total(self) -> float:
        """The sum of all kinds."""
        return fsum(self.__dict__.values())


@dataclass(frozen=True)
class StageCost:
    """Seconds of a stage for one micro-batch on one device, and bytes."""

    forward: float
    backward: float
    in_forward: float
    in_backward: float
    out_forward: float
    out_backward: float
    trainable: float
    memory: StageMemory

    @property
    def transfer(self) -> float:
        """Seconds of all transfers to and from the stage, forward and backward."""
        return fsum((self.in_forward, self.in_backward, self.out_forward, self.out_backward))


@dataclass(frozen=True)
class Link:
    """A stage that reads tensors of another one: seconds until the last of them, or of their gradients, arrives."""

    sender: int
    reader: int
    forward: float
    backward: float


@dataclass(frozen=True)
class Exchange:
    """An all-reduce: parameters of `bytes` bytes that all replicas of these stages hold, on `ranks` devices."""

    stages: tuple[int, ...]
    ranks: int
    bytes: float

    def seconds(self, devices: Devices) -> float:
        """Return its duration as a ring, 2(k−1)/k · bytes/bandwidth (Patarasuk and Yuan 2009)."""
        return allreduce_seconds(self.ranks, self.bytes, devices)


def transfer_seconds(size: float, devices: Devices) -> float:
    """Return seconds of the transfer of one tensor; 0 for 0 bytes."""
    return devices.latency + size / devices.bandwidth if size > 0 else 0.0


def allreduce_seconds(ranks: int, size: float, devices: Devices) -> float:
    """Return seconds of an all-reduce of `size` bytes over `ranks` devices."""
    return 2 * (ranks - 1) / ranks * size / devices.allreduce_bandwidth


def fits(size: float, memory: float) -> bool:
    """Return whether so many bytes fit."""
    return size <= memory * (1 + SLACK)


class CostedPlan:
    """A plan with the costs of its stages, their links and their all-reduces."""

    def __init__(self, graph: Graph, devices: Devices, micro_batches: int, stages: Sequence[Stage]) -> None:
        self.graph, self.devices, self.micro_batches = graph, devices, micro_batches
        self.stages = tuple(stages)
        self.replicas = [stage.replicas for stage in stages]
        self.warm_ups = warm_ups(self.replicas)
        self.place = {member: number for number, stage in enumerate(stages) for member in stage.operators}
        self._transfers()
        self.costs = [self._cost(number) for number in range(len(stages))]
        self.exchanges = self._exchanges()

    @property
    def devices_used(self) -> int:
        """The number of devices that the plan uses."""
        return sum(self.replicas)

    @property
    def feasible(self) -> bool:
        """Whether each stage fits in memory and the plan has enough devices."""
        enough = self.devices_used <= self.devices.count
        runs = all(runs_as(stage, self.graph, "auto") for stage in self.stages)
        return enough and runs and all(fits(cost.memory.total, self.devices.memory) for cost in self.costs)

    def _transfers(self) -> None:
        """Compute what each stage sends and receives: a tensor counts once in its sender, and once in each receiver."""
        stages = len(self.stages)
        self._in_bytes: list[list[float]] = [[] for _ in range(stages)]
        self._in: list[list[tuple[float, float]]] = [[] for _ in range(stages)]
        self._out: list[list[tuple[float, float]]] = [[] for _ in range(stages)]
        links: dict[tuple[int, int], tuple[float, float]] = {}
        for tensor in self.graph.tensors:
            sender = self.place[tensor.producer]
            readers = {self.place[reader] for reader in tensor.readers} - {sender}
            seconds = (
                transfer_seconds(tensor.bytes, self.devices),
                transfer_seconds(tensor.gradient_bytes, self.devices),
            )
            if readers:
                self._out[sender].append(seconds)
            for reader in readers:
                self._in[reader].append(seconds)
                self._in_bytes[reader].append(tensor.bytes)
                before = links.get((sender, reader), (0.0, 0.0))
                links[sender, reader] = max(before[0], seconds[0]), max(before[1], seconds[1])
        self.links = [Link(*ends, *seconds) for ends, seconds in sorted(links.items())]

    def _cost(self, number: int) -> StageCost:
        stage = self.stages[number]
        members = [self.graph.operators[member] for member in stage.operators]
        forward = fsum(operator.forward for operator in members)
        backward = fsum(operator.backward for operator in members) + (forward if stage.recompute else 0.0)
        trainable = self.trainable(stage.operators)
        if stage.offload:
            host = self.devices.host_bandwidth or float("inf")
            forward, backward = max(forward, trainable / host), max(backward, 2 * trainable / host)
        depth = in_flight(self.warm_ups[number], stage.replicas, self.micro_batches)
        received, saved = fsum(self._in_bytes[number]), fsum(operator.saved for operator in members)
        resident = max(operator.parameters for operator in members) if stage.offload else trainable
        optimizer = self.devices.optimizer_bytes_per_parameter_byte
        return StageCost(
            forward, backward,
            fsum(pair[0] for pair in self._in[number]), fsum(pair[1] for pair in self._in[number]),
            fsum(pair[0] for pair in self._out[number]), fsum(pair[1] for pair in self._out[number]),
            trainable,
            StageMemory(
                parameters=resident + fsum(operator.frozen for operator in members),
                gradients=resident,
                optimizer=resident if stage.offload else optimizer * trainable,
                activations=depth * received + saved if stage.recompute else depth * (saved + received),
                buffers=fsum(operator.buffers for operator in members),
                workspace=max(operator.workspace for operator in members),
            ),
        )  # fmt: skip

    def trainable(self, members: Iterable[int]) -> float:
        """Return the trainable bytes of operators; a parameter that several of them share counts once."""
        mine = set(members)
        extra = [
            (count - 1) * alias.bytes
            for alias in self.graph.aliases
            if (count := sum(member in mine for member in alias.operators)) > 1
        ]
        return max(0.0, fsum([self.graph.operators[member].parameters for member in mine] + [-size for size in extra]))

    def _exchanges(self) -> list[Exchange]:
        """Return the all-reduces; parameters that the same stages hold are in one."""
        shared: dict[tuple[int, ...], float] = {}
        apart = [0.0] * len(self.stages)
        for alias in self.graph.aliases:
            holders = tuple(sorted({self.place[member] for member in alias.operators}))
            if len(holders) > 1:
                shared[holders] = shared.get(holders, 0.0) + alias.bytes
                for holder in holders:
                    apart[holder] += alias.bytes
        own = [
            Exchange((number,), self.replicas[number], max(0.0, cost.trainable - apart[number]))
            for number, cost in enumerate(self.costs)
        ]
        ties = [
            Exchange(holders, sum(self.replicas[holder] for holder in holders), size)
            for holders, size in shared.items()
        ]
        return [exchange for exchange in own + ties if exchange.ranks > 1 and exchange.bytes > 0]

    # ---- objectives

    def max_load(self) -> float:
        """Return seconds per micro-batch of the busiest stage, with its transfers: the inverse of the throughput."""
        return max(self.load(number) for number in range(len(self.stages)))

    def load(self, number: int) -> float:
        """Return seconds per micro-batch and device of a stage, with its transfers."""
        cost = self.costs[number]
        return fsum((cost.forward, cost.backward, cost.transfer)) / self.replicas[number]

    def fill_parts(self) -> tuple[float, float, float]:
        """Return the largest forward and backward time of a stage with its transfers, and the longest all-reduce."""
        rows = list(zip(self.costs, self.replicas, strict=True))
        return (
            max((cost.forward + cost.in_forward) / replicas for cost, replicas in rows),
            max((cost.backward + cost.out_backward) / replicas for cost, replicas in rows),
            max(allreduce_seconds(replicas, cost.trainable, self.devices) for cost, replicas in rows),
        )

    def fill(self) -> float:
        """Return (m + S − 1) · (max forward + max backward) + max all-reduce, the estimate of RaNNC (2021)."""
        forward, backward, exchange = self.fill_parts()
        return (self.micro_batches + len(self.stages) - 1) * (forward + backward) + exchange
