"""A cluster's profile beside what its scheduler says of the machine: queues, limits of a job, the shape of a node."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hackathon.config.cluster import Cluster, Queue
from hackathon.config.fields import KeyPath
from hackathon.schedulers import runner
from hackathon.schedulers.base import Scheduler, SchedulerError
from hackathon.schedulers.machine import NodeGroup, QueueInfo
from hackathon.text.units import format_walltime

TOLERANCE = 0.1
"""Share by which configured memory may differ from what a manual says of it."""
THREADS = (1, 2, 4, 8)
"""Hardware threads a core that may be what a scheduler counts as CPUs."""

Verdict = Literal["same", "possible", "differs", "missing", "gone", "unknown"]
"""`possible`: agrees with what the scheduler tells, which is less than the value: the number of a queue's nodes, or of
CPUs that may be hardware threads. `missing`: the machine tells what the profile does not have. `gone`: a queue that the
machine does not have. `unknown`: the scheduler does not tell."""
CHANGES: frozenset[str] = frozenset({"differs", "missing", "gone"})


@dataclass(frozen=True)
class Machine:
    """What a scheduler says of its machine."""

    queues: list[QueueInfo]
    nodes: list[NodeGroup]
    """Empty where it does not tell."""
    problem: str = ""
    """Why there is no answer about the nodes, in words; empty where there is one or nobody can be asked."""


def commands_of(scheduler: Scheduler) -> list[str]:
    """Return the names of the commands with which `ask` asks."""
    return list(dict.fromkeys(argv[0] for argv in (scheduler.queues_argv(), *scheduler.nodes_argv())))


@dataclass(frozen=True)
class ComparedValue:
    """One value of the profile, and the machine's."""

    path: KeyPath
    profile: Any
    """As a profile writes it; None where it has none."""
    machine: Any
    """As a profile would write it; None where the scheduler does not tell."""
    verdict: Verdict

    @property
    def key(self) -> str:
        """The key path as a profile's `unverified` writes it."""
        return ".".join(map(str, self.path))


def ask(scheduler: Scheduler) -> Machine:
    """Ask a scheduler for queues and nodes. Raises SchedulerError where it does not answer about queues."""
    queues = runner.queues(scheduler)
    try:
        return Machine(queues, runner.nodes(scheduler))
    except SchedulerError as error:
        return Machine(queues, [], error.message)


def compare(cluster: Cluster, written: Mapping[str, Any], machine: Machine) -> list[ComparedValue]:
    """Return what can be compared; `written` is the profile as its file has it, plain.

    A profile without queues lacks all of the machine's. One with some queues may leave out others on purpose: two
    profiles may share a machine.
    """
    by_name = {queue.name: queue for queue in machine.queues}
    values: list[ComparedValue] = []
    for name, queue in cluster.queues.items():
        if name in by_name:
            values += _queue(name, queue, by_name[name])
        else:
            values.append(ComparedValue(("queues", name), written["queues"][name], None, "gone"))
    if not cluster.queues:
        values += [ComparedValue(("queues", name), None, limits(queue), "missing") for name, queue in by_name.items()]
    group = nearest_group(cluster, machine.nodes)
    return [*values, *(_node(cluster, written.get("node") or {}, group) if group is not None else ())]


def others(cluster: Cluster, machine: Machine) -> list[str]:
    """Return the machine's queues that a profile with queues does not have."""
    return [queue.name for queue in machine.queues if cluster.queues and queue.name not in cluster.queues]


def closed(cluster: Cluster, machine: Machine) -> list[str]:
    """Return the profile's queues that take or start no jobs now."""
    return [queue.name for queue in machine.queues if queue.name in cluster.queues and not queue.enabled]


def limits(queue: QueueInfo) -> dict[str, Any]:
    """Return what a scheduler tells of a queue as a profile writes it."""
    least = {"min_nodes": queue.min_nodes} if queue.min_nodes is not None and queue.min_nodes > 1 else {}
    most = {"nodes": queue.nodes} if queue.nodes else {}
    return {**least, **most, **({"walltime": format_walltime(queue.walltime)} if queue.walltime else {})}


def shape(group: NodeGroup) -> dict[str, Any]:
    """Return what a scheduler tells of a node as a profile writes it; CPUs stand for cores that it does not tell."""
    cores = group.cores or group.cpus
    values = {"cores": cores, "memory": None if group.memory is None else binary_size(group.memory), "gpus": group.gpus}
    return {key: value for key, value in values.items() if value is not None}


def binary_size(size: int) -> str:
    """Return bytes as a profile writes them exactly: `64 GiB`, `4000 MiB`."""
    for power, unit in ((30, "GiB"), (20, "MiB")):
        if size and size % 2**power == 0:
            return f"{size >> power} {unit}"
    return str(size)


def nearest_group(cluster: Cluster, groups: Sequence[NodeGroup]) -> NodeGroup | None:
    """Return the nodes that a profile means: of those in its queues the ones that it fits best, then the most."""
    mine = [group for group in groups if set(group.queues) & set(cluster.queues)] or list(groups)
    fits = [sum(value.verdict in ("same", "possible") for value in _node(cluster, {}, group)) for group in mine]
    return max(zip(fits, mine, strict=True), key=lambda pair: (pair[0], pair[1].nodes))[1] if mine else None


def _queue(name: str, queue: Queue, info: QueueInfo) -> Iterator[ComparedValue]:
    yield ComparedValue(("queues", name), name, name, "same")
    if queue.min_nodes > 1 or (info.min_nodes or 1) > 1:
        least = info.min_nodes
        same: Verdict = "unknown" if least is None else "same" if least == queue.min_nodes else "differs"
        yield ComparedValue(("queues", name, "min_nodes"), queue.min_nodes, least, same)
    yield ComparedValue(("queues", name, "nodes"), queue.nodes, info.nodes, _nodes_verdict(queue.nodes, info))
    written = format_walltime(queue.walltime) if queue.walltime else None
    longest = format_walltime(info.walltime) if info.walltime else None
    yield ComparedValue(("queues", name, "walltime"), written, longest, _verdict(written, longest))


def _nodes_verdict(nodes: int | None, info: QueueInfo) -> Verdict:
    """Return the verdict on a limit; one below the mere number of nodes may be the site's in another way."""
    if nodes is not None and info.nodes is not None and nodes < info.nodes and info.nodes == info.size:
        return "possible"
    return _verdict(nodes, info.nodes)


def _verdict(profile: Any, machine: Any) -> Verdict:
    if machine is None:
        return "unknown"
    return "missing" if profile is None else "same" if profile == machine else "differs"


def _node(cluster: Cluster, written: Mapping[str, Any], group: NodeGroup) -> Iterator[ComparedValue]:
    node, reported = cluster.node, shape(group)
    if node.cores != "auto":
        counted = group.cores or group.cpus
        # which of its threads a CPU is, is not told: every multiple may be the same node
        fits = counted in [node.cores * threads for threads in (THREADS if group.cores is None else (1,))]
        agrees: Verdict = "same" if group.cores else "possible"
        verdict: Verdict = "unknown" if counted is None else agrees if fits else "differs"
        yield ComparedValue(("node", "cores"), node.cores, node.cores if fits else counted, verdict)
    if group.memory is None or node.memory is None:
        has = None if node.memory is None else written.get("memory", node.memory)
        yield ComparedValue(("node", "memory"), has, reported.get("memory"), _verdict(has, reported.get("memory")))
    else:
        near = abs(group.memory - node.memory) <= TOLERANCE * node.memory
        has = written.get("memory", node.memory)
        yield ComparedValue(("node", "memory"), has, reported["memory"], "same" if near else "differs")
    if node.gpus != "auto":
        yield ComparedValue(("node", "gpus"), node.gpus, group.gpus, _verdict(node.gpus, group.gpus))
