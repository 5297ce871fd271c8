"""The nodes of a plan's stages, and the time of a step with the bandwidths inside and between nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.devices import Devices
from hackathon.parallel.plan.simulation import simulate, timing_of


@dataclass(frozen=True)
class Placement:
    """Nodes of a plan: ranks are numbered stage by stage, replica by replica, and fill one node after another."""

    nodes: int
    processes_per_node: int
    stages: tuple[tuple[int, ...], ...]
    """Stage → node of each of its replicas."""
    seconds: float | None
    """The simulated step with both bandwidths; None if that between nodes is unknown."""

    @property
    def processes(self) -> int:
        """The ranks, one for each device that is used."""
        return self.nodes * self.processes_per_node


def job_shape(processes: int, devices_per_node: int) -> tuple[int, int]:
    """Return the fewest nodes for a number of processes, and the processes on each: equally many on all."""
    nodes = -(-processes // devices_per_node)
    while processes % nodes:
        nodes += 1
    return nodes, processes // nodes


def inside_node(devices: Devices) -> Devices:
    """Return the devices with the bandwidths inside a node."""
    if devices.node_bandwidth is None:
        return devices
    faster = devices.node_allreduce_bandwidth or devices.node_bandwidth
    return replace(devices, bandwidth=devices.node_bandwidth, allreduce_bandwidth=faster)


def between_nodes(devices: Devices) -> Devices | None:
    """Return the devices with the bandwidths between nodes; None if they are unknown."""
    if devices.internode_bandwidth is None:
        return None if devices.node_bandwidth is None else devices
    slower = min(devices.allreduce_bandwidth, devices.internode_bandwidth)
    return replace(devices, bandwidth=devices.internode_bandwidth, allreduce_bandwidth=slower)


def placed(plan: CostedPlan, devices_per_node: int | None = None) -> Placement | None:
    """Return the placement of a plan's stages; None if the number of devices per node is unknown.

    A transfer between two stages takes as long as the one of the slowest pair of replicas; an all-reduce of ranks on
    several nodes has the bandwidth between them.
    """
    devices_per_node = devices_per_node or plan.devices.devices_per_node
    if devices_per_node is None:
        return None
    inside, between = inside_node(plan.devices), between_nodes(plan.devices)
    nodes, per_node = job_shape(plan.devices_used, devices_per_node)
    hosts, rank = [], 0
    for count in plan.replicas:
        hosts.append(tuple((rank + replica) // per_node for replica in range(count)))
        rank += count
    if between is None and nodes > 1:
        return Placement(nodes, per_node, tuple(hosts), None)
    near = CostedPlan(plan.graph, inside, plan.micro_batches, plan.stages)
    far = CostedPlan(plan.graph, between or inside, plan.micro_batches, plan.stages)
    senders: list[list[tuple[int, float]]] = [[] for _ in plan.stages]
    readers: list[list[tuple[int, float]]] = [[] for _ in plan.stages]
    for near_link, far_link in zip(near.links, far.links, strict=True):
        link = far_link if _apart(hosts[near_link.sender], hosts[near_link.reader], plan.micro_batches) else near_link
        senders[link.reader].append((link.sender, link.forward))
        readers[link.sender].append((link.reader, link.backward))
    exchanges = []
    for exchange in near.exchanges:
        spread = len({node for stage in exchange.stages for node in hosts[stage]}) > 1
        exchanges.append(exchange.seconds(far.devices if spread else near.devices))
    timing = replace(timing_of(near), senders=senders, readers=readers)
    return Placement(nodes, per_node, tuple(hosts), simulate(near, timing, exchanges).seconds)


def _apart(senders: Sequence[int], readers: Sequence[int], micro_batches: int) -> bool:
    """Return whether a micro-batch moves from one node to another."""
    return any(
        senders[number % len(senders)] != readers[number % len(readers)]
        for number in range(min(micro_batches, len(senders) * len(readers)))
    )
