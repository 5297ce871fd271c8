"""The cost of jobs: node-hours, GPU-hours, the site's tokens. Only this module computes it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hackathon.config.cluster import Cluster, Rates
from hackathon.jobs.request import Request
from hackathon.schedulers import registry


@dataclass(frozen=True)
class Spent:
    """The consumption of a cluster's resources."""

    node_hours: float = 0.0
    gpu_hours: float = 0.0
    tokens: float | None = None
    """None if the profile has no rate."""

    def of(self, kind: str) -> float:
        """Return the amount of one of KINDS."""
        value: float | None = getattr(self, kind)
        return value or 0.0


KINDS = ("node_hours", "gpu_hours", "tokens")
"""Counted units, each of which an event's budget can limit."""


def spent(node_seconds: float, gpu_seconds: float, rates: Rates | None) -> Spent:
    """Return the cost of nodes and GPUs that were occupied for so long (seconds × nodes, seconds × GPUs)."""
    nodes, gpus = node_seconds / 3600, gpu_seconds / 3600
    if rates is None or not (rates.per_node_hour or rates.per_gpu_hour):
        return Spent(nodes, gpus)
    return Spent(nodes, gpus, nodes * rates.per_node_hour + gpus * rates.per_gpu_hour)


def gpus_given(gpus_per_node: int, gpus_asked: int, cluster: Cluster | None, *, queue: str | None, nodes: int) -> int:
    """Return the GPUs of each node that a job occupies: all if its queue allocates full nodes, else as requested."""
    used = min(gpus_per_node, gpus_asked)
    if cluster is None or registry.known_dialect(cluster).gives_nodes(queue, nodes, used):
        return gpus_per_node
    return used


def running_seconds(started: float, now: float, walltime: float) -> float:
    """Return how long a running job has occupied its nodes: at most its walltime (0: unknown)."""
    seconds = max(0.0, now - started)
    return min(seconds, walltime) if walltime > 0 else seconds


@dataclass(frozen=True)
class Cost:
    """Upper bounds: every job counts with its full walltime."""

    jobs: int
    node_hours: float
    gpu_hours: float
    tokens: float | None
    """None if the profile has no rate."""

    def of(self, kind: str) -> float:
        """Return the amount of one of KINDS."""
        value: float | None = getattr(self, kind)
        return value or 0.0


def cost(requests: Iterable[Request], cluster: Cluster, repeat: int = 1, longest: int | None = None) -> Cost:
    """Return the cost of the requests, each submitted `repeat` times, each for at most `longest` seconds."""
    jobs, node_seconds, gpu_seconds = 0, 0.0, 0.0
    for request in requests:
        seconds = float(request.walltime if longest is None else min(request.walltime, longest)) * repeat
        gpus = gpus_given(request.gpus_per_node, request.gpus_wanted, cluster, queue=request.queue, nodes=request.nodes)
        jobs += repeat
        node_seconds += request.nodes * seconds
        gpu_seconds += request.nodes * gpus * seconds
    most = spent(node_seconds, gpu_seconds, cluster.rates)
    return Cost(jobs, most.node_hours, most.gpu_hours, most.tokens)
