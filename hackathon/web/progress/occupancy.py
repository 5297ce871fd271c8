"""The scheduler's information about its queues: requested once a minute in the background while the page is open.

A scheduler knows only its own machine. So it is asked about a cluster only if no other cluster of the event has this
scheduler, and only queues in the cluster's profile are displayed.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hackathon.config.cluster import Cluster
from hackathon.index.catalog import Catalog
from hackathon.schedulers.reports import QueueInfo

EVERY, OLD = 60.0, 300.0
"""Seconds for which an answer is fresh, and for which it is displayed if no newer one comes."""
KEPT = 64


@dataclass(frozen=True)
class Occupancy:
    """One cluster's queues by its scheduler's answer."""

    moment: float
    """Time of the answer, seconds since 1970."""
    queues: Mapping[str, QueueInfo]
    """By name; those of the profile."""


def occupancy(source: Catalog, clusters: Mapping[str, Cluster]) -> dict[str, Occupancy]:
    """Return the present answers for the clusters of a live page, and request new ones for old answers.

    Empty on the site, with `--no-ask`, and for two clusters with the same scheduler.
    """
    if not source.asks:
        return {}
    kinds = Counter(cluster.scheduler for cluster in clusters.values())
    occupancies = {}
    for name, cluster in clusters.items():
        # the answer could be about either cluster
        if kinds[cluster.scheduler] > 1:
            continue
        entry: Occupancy | None = source.memory.recall("occupancy", name)
        moment: float = source.memory.recall("occupancy asked", name) or -1e9
        if time.monotonic() - moment > EVERY:
            source.memory.keep("occupancy asked", name, time.monotonic(), KEPT)
            threading.Thread(target=_ask, args=(source, name, cluster), name="queues", daemon=True).start()
        if entry is not None and source.now - entry.moment < OLD:
            occupancies[name] = entry
    return occupancies


def _ask(source: Catalog, name: str, cluster: Cluster) -> None:
    from hackathon.schedulers import runner
    from hackathon.schedulers.registry import scheduler_of
    from hackathon.text.errors import HackathonError

    try:
        queues = runner.queues(scheduler_of(cluster), delays=())
    except (HackathonError, OSError, ValueError):
        return  # no such command here, or no answer: the page omits it
    by_name = {queue.name: queue for queue in queues if queue.name in cluster.queues}
    if by_name:
        source.memory.keep("occupancy", name, Occupancy(time.time(), by_name), KEPT)
