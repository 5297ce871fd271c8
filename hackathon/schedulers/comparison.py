"""Compare a cluster's profile with the scheduler's report: queues, limits of a job, the shape of a node."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hackathon.config.cluster import Cluster, Queue
from hackathon.config.evidence import cited_values, unconfirmed
from hackathon.config.records import KeyPath
from hackathon.schedulers import runner
from hackathon.schedulers.base import Scheduler, SchedulerError
from hackathon.schedulers.registry import here, known_dialect, load
from hackathon.schedulers.reports import NodeGroup, QueueInfo
from hackathon.text.errors import RequestError
from hackathon.text.units import format_walltime

TOLERANCE = 0.1
"""Tolerated difference of configured memory from a manual's, as a share."""
THREADS = (1, 2, 4, 8)
"""Hardware threads per core that a scheduler may count as CPUs."""

Verdict = Literal["same", "possible", "differs", "missing", "gone", "unknown"]
"""Result of a comparison.

`possible`: the value agrees as far as the scheduler reports it (the number of a queue's nodes, or CPUs that may be
hardware threads). `missing`: the profile lacks a value of the machine. `gone`: the machine lacks a queue. `unknown`:
the scheduler does not report the value.
"""
GPU_REQUEST = ("dialect", "gpu_request")
_NAMES_GPUS = re.compile(r"(?i)gpu|gres|cuda").search
CHANGES: frozenset[str] = frozenset({"differs", "missing", "gone"})


@dataclass(frozen=True)
class Machine:
    """A scheduler's report on its machine."""

    queues: list[QueueInfo]
    nodes: list[NodeGroup]
    """Empty when the scheduler does not report nodes."""
    problem: str = ""
    """Why the nodes could not be queried; empty without a problem or without a command for nodes."""


def commands_of(scheduler: Scheduler) -> list[str]:
    """Return the names of the commands that `ask` uses."""
    return list(dict.fromkeys(argv[0] for argv in (scheduler.queues_argv(), *scheduler.nodes_argv())))


@dataclass(frozen=True)
class ComparedValue:
    """A value of the profile with the machine's value."""

    path: KeyPath
    profile: Any
    """As written in a profile; None when the profile has none."""
    machine: Any
    """As a profile would write it; None when the scheduler does not report it."""
    verdict: Verdict

    @property
    def key(self) -> str:
        """The key path as in a profile's `unverified`."""
        return ".".join(map(str, self.path))


def ask(scheduler: Scheduler) -> Machine:
    """Query a scheduler for queues and nodes. Raises SchedulerError when it does not report queues."""
    queues = runner.queues(scheduler)
    try:
        return Machine(queues, runner.nodes(scheduler))
    except SchedulerError as error:
        return Machine(queues, [], error.message)


def answering() -> list[str]:
    """Return the schedulers whose commands this machine has, one that answers first: clients may be left over.

    Where there is only one, it is not asked.
    """
    names = here()
    for name in names if len(names) > 1 else ():
        try:
            runner.queues(load(name), delays=())
        except (SchedulerError, RequestError):
            continue
        return [name, *(other for other in names if other != name)]
    return names


def compare(cluster: Cluster, written: Mapping[str, Any], machine: Machine) -> list[ComparedValue]:
    """Return all comparable values; `written` is the plain content of the profile's file.

    A profile without queues lacks all of the machine's. One with some queues may omit others on purpose: two profiles
    may share a machine.
    """
    by_name = {queue.name: queue for queue in machine.queues}
    values: list[ComparedValue] = []
    for name, queue in cluster.queues.items():
        partition = queue.partition or name
        if queue.qos:
            continue  # schedulers report the limits of partitions
        if partition in by_name:
            values += _queue(name, queue, by_name[partition])
        else:
            values.append(ComparedValue(("queues", name), written["queues"][name], None, "gone"))
    if not cluster.queues:
        values += [ComparedValue(("queues", name), None, limits(queue), "missing") for name, queue in by_name.items()]
    group = nearest_group(cluster, machine.nodes)
    if group is not None:
        values += _node(cluster, written.get("node") or {}, group)
    confirmed = {value.path for value in cited_values(written) if not value.unverified}
    confirmed -= {value.path for value in unconfirmed(written)}
    if group is not None and gpus_unrequested(cluster, machine) and GPU_REQUEST not in confirmed:
        for key, needed in known_dialect(cluster).keys_for_gpus(group).items():
            value = (written.get("dialect") or {}).get(key)
            if value != needed:
                values.append(ComparedValue(("dialect", key), value, needed, "differs" if value else "missing"))
    return values


def gpus_unrequested(cluster: Cluster, machine: Machine) -> int:
    """Return the GPUs that the scheduler counts on a node while the profile's jobs request none; else 0."""
    group, dialect = nearest_group(cluster, machine.nodes), known_dialect(cluster)
    if group is None or getattr(dialect, GPU_REQUEST[1], None) != "none":
        return 0
    silent = GPU_REQUEST[1] in dialect.keys_for_gpus(group) and not any(map(_NAMES_GPUS, cluster.directives))
    return (group.gpus or 0) if silent else 0


def others(cluster: Cluster, machine: Machine) -> list[str]:
    """Return the machine's queues that a profile with queues lacks."""
    named = _partitions(cluster)
    return [queue.name for queue in machine.queues if named and queue.name not in named]


def closed(cluster: Cluster, machine: Machine) -> list[str]:
    """Return the profile's queues that currently accept or start no jobs."""
    named = _partitions(cluster)
    return [queue.name for queue in machine.queues if queue.name in named and not queue.enabled]


def _partitions(cluster: Cluster) -> set[str]:
    """Return the names by which a scheduler reports the profile's queues."""
    return {queue.partition or name for name, queue in cluster.queues.items()}


def limits(queue: QueueInfo) -> dict[str, Any]:
    """Return the reported limits of a queue in the form of a profile."""
    least = {"min_nodes": queue.min_nodes} if queue.min_nodes is not None and queue.min_nodes > 1 else {}
    most = {"nodes": queue.nodes} if queue.nodes else {}
    return {**least, **most, **({"walltime": format_walltime(queue.walltime)} if queue.walltime else {})}


def shape(group: NodeGroup) -> dict[str, Any]:
    """Return the reported shape of a node in the form of a profile; CPUs replace unreported cores."""
    cores = group.cores or group.cpus
    values = {"cores": cores, "memory": None if group.memory is None else binary_size(group.memory), "gpus": group.gpus}
    return {key: value for key, value in values.items() if value is not None}


def binary_size(size: int) -> str:
    """Return bytes in the exact form of a profile: `64 GiB`, `4000 MiB`."""
    for power, unit in ((30, "GiB"), (20, "MiB")):
        if size and size % 2**power == 0:
            return f"{size >> power} {unit}"
    return str(size)


def nearest_group(cluster: Cluster, groups: Sequence[NodeGroup]) -> NodeGroup | None:
    """Return the nodes that a profile describes: among those in its queues the best match, then the largest group."""
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
    """Return the verdict on a limit; a value below the number of nodes may be a limit of the site."""
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
        # CPUs may be hardware threads, so every multiple may be the same node
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
