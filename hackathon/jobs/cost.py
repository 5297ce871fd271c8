"""What a request costs at most: node-hours, GPU-hours, the site's tokens."""

from collections.abc import Iterable
from dataclasses import dataclass

from hackathon.config.cluster import Cluster
from hackathon.jobs.request import Request


@dataclass(frozen=True)
class Cost:
    """Upper bounds: every job is counted with its whole walltime."""

    jobs: int
    node_hours: float
    gpu_hours: float
    tokens: float | None
    """None where the profile has no rate."""


def cost(requests: Iterable[Request], cluster: Cluster, repeat: int = 1) -> Cost:
    """Return the cost of the requests, each submitted `repeat` times."""
    jobs, node_hours, gpu_hours = 0, 0.0, 0.0
    for request in requests:
        hours = request.walltime / 3600 * repeat
        jobs += repeat
        node_hours += request.nodes * hours
        gpu_hours += request.nodes * request.gpus_per_node * hours
    rates = cluster.rates
    tokens = node_hours * rates.per_node_hour + gpu_hours * rates.per_gpu_hour
    return Cost(jobs, node_hours, gpu_hours, tokens if rates.per_node_hour or rates.per_gpu_hour else None)
