"""What jobs cost: node-hours, GPU-hours, the site's tokens. The one place where they are reckoned."""

from collections.abc import Iterable
from dataclasses import dataclass

from hackathon.config.cluster import Cluster, Rates
from hackathon.jobs.request import Request
from hackathon.schedulers import profiles


@dataclass(frozen=True)
class Spent:
    """What was used of a cluster."""

    node_hours: float = 0.0
    gpu_hours: float = 0.0
    tokens: float | None = None
    """None where the profile has no rate."""

    def of(self, kind: str) -> float:
        """Return one of KINDS."""
        value: float | None = getattr(self, kind)
        return value or 0.0


KINDS = ("node_hours", "gpu_hours", "tokens")
"""What is counted, and what an event's budget can limit."""


def spent(node_seconds: float, gpu_seconds: float, rates: Rates | None) -> Spent:
    """Return what nodes cost that were held for this long (seconds × nodes, seconds × GPUs)."""
    nodes, gpus = node_seconds / 3600, gpu_seconds / 3600
    if rates is None or not (rates.per_node_hour or rates.per_gpu_hour):
        return Spent(nodes, gpus)
    return Spent(nodes, gpus, nodes * rates.per_node_hour + gpus * rates.per_gpu_hour)


def gpus_given(gpus_per_node: int, gpus_asked: int, cluster: Cluster | None, *, queue: str | None, nodes: int) -> int:
    """Return the GPUs of each node that a job holds: all where its queue gives nodes, else as many as it wants."""
    used = min(gpus_per_node, gpus_asked)
    if cluster is None or profiles.known_dialect(cluster).gives_nodes(queue, nodes, used):
        return gpus_per_node
    return used


def running_seconds(started: float, now: float, walltime: float) -> float:
    """Return how long a job that goes on has held its nodes: at most its walltime (0: none is known)."""
    seconds = max(0.0, now - started)
    return min(seconds, walltime) if walltime > 0 else seconds


@dataclass(frozen=True)
class Cost:
    """Upper bounds: every job is counted with its whole walltime."""

    jobs: int
    node_hours: float
    gpu_hours: float
    tokens: float | None
    """None where the profile has no rate."""

    def of(self, kind: str) -> float:
        """Return one of KINDS."""
        value: float | None = getattr(self, kind)
        return value or 0.0


def cost(requests: Iterable[Request], cluster: Cluster, repeat: int = 1, longest: int | None = None) -> Cost:
    """Return the cost of the requests, each submitted `repeat` times, none of them for more than `longest` seconds."""
    jobs, node_seconds, gpu_seconds = 0, 0.0, 0.0
    for request in requests:
        seconds = float(request.walltime if longest is None else min(request.walltime, longest)) * repeat
        gpus = gpus_given(request.gpus_per_node, request.gpus_wanted, cluster, queue=request.queue, nodes=request.nodes)
        jobs += repeat
        node_seconds += request.nodes * seconds
        gpu_seconds += request.nodes * gpus * seconds
    most = spent(node_seconds, gpu_seconds, cluster.rates)
    return Cost(jobs, most.node_hours, most.gpu_hours, most.tokens)
