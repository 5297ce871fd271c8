"""Check the clusters of an event: profiles, queues, reservations, budgets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.problems import ConfigError, listing, nearest
from hackathon.text.errors import HackathonError, RequestError

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import EventCluster
    from hackathon.event.check_report import Checker


def look(checker: "Checker", *, live: bool) -> None:
    """Note the troubles; with `live`, the scheduler of each cluster is asked about its queues, once."""
    from hackathon.schedulers.profiles import load_cluster

    event = checker.event
    if not event.clusters:
        checker.add("warning", "event_check.no_clusters", checker.line("clusters"))
    for name, used in event.clusters.items():
        line = checker.line("clusters", name)
        try:
            cluster = load_cluster(name, [checker.folder])
        except ConfigError as error:
            checker.add("error", "event_check.cluster_wrong", line, cluster=name, what=error.message)
            continue
        except RequestError as error:
            checker.add("error", "event_check.cluster_unknown", line, what=error.message)
            continue
        _queue(checker, name, used, cluster)
        _budget(checker, name, used, cluster)
        if live:
            _ask(checker, name, used, cluster)
    default = event.defaults.cluster
    if default is not None and event.clusters and default not in event.clusters:
        line = checker.line("defaults", "cluster")
        checker.add("warning", "event_check.default_elsewhere", line, cluster=default, known=listing(event.clusters))
    budgets = [used.budget for used in event.clusters.values() if used.budget is not None]
    if event.when_spent == "refuse" and not budgets:
        checker.add("warning", "event_check.refuse_nothing", checker.line("when_spent"))


def _queue(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    if used.queue is None or not cluster.queues or used.queue in cluster.queues:
        return
    line = checker.line("clusters", name, "queue")
    near = nearest(used.queue, cluster.queues)
    values: dict[str, Any] = {"queue": used.queue, "cluster": name, "near": near, "known": listing(cluster.queues)}
    checker.add("error", "event_check.queue_near" if near else "event_check.queue_unknown", line, **values)


def _budget(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    """Note a budget in a unit that the cluster does not count, and an empty budget."""
    budget = used.budget
    if budget is None:
        return
    line = checker.line("clusters", name, "budget")
    if budget.node_hours is None and budget.gpu_hours is None and budget.tokens is None:
        checker.add("warning", "event_check.budget_empty", line, cluster=name)
    if budget.gpu_hours is not None and cluster.node.gpus == 0:
        checker.add("error", "event_check.budget_gpus", line, cluster=name)
    rates = cluster.rates
    if budget.tokens is not None and not (rates.per_node_hour or rates.per_gpu_hour):
        checker.add("error", "event_check.budget_tokens", line, cluster=name)


def _ask(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    from hackathon.schedulers import runner
    from hackathon.schedulers.profiles import scheduler_of

    line = checker.line("clusters", name, "queue")
    try:
        queues = {queue.name: queue for queue in runner.queues(scheduler_of(cluster))}
    except HackathonError as error:
        checker.add("warning", "event_check.live_silent", line, cluster=name, what=error.message)
        return
    queue = used.queue or cluster.queue
    if queue is None:
        return
    if queue not in queues:
        available = listing(sorted(queues)) or "–"
        checker.add("error", "event_check.live_unknown", line, queue=queue, cluster=name, known=available)
    elif not queues[queue].enabled:
        checker.add("warning", "event_check.live_closed", line, queue=queue, cluster=name, note=queues[queue].note)


def wants_group(checker: "Checker") -> str:
    """Return a cluster of the event whose scheduler requires a group to charge; empty if none does."""
    from hackathon.schedulers.profiles import dialect_of, load_cluster

    for name in checker.event.clusters:
        try:
            wants_group = dialect_of(load_cluster(name, [Path(checker.folder)])).wants_group
        except HackathonError:
            continue
        if wants_group:
            return name
    return ""
