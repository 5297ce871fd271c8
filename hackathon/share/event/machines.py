"""What is wrong with the clusters of an event: profiles, queues, reservations, budgets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.problems import ConfigError, listing, nearest
from hackathon.text.errors import HackathonError, RequestError

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import EventCluster
    from hackathon.share.event.looking import Looker


def look(looker: "Looker", *, live: bool) -> None:
    """Note what is wrong; with `live` the scheduler of each cluster is asked about its queues, once."""
    from hackathon.config.load import load_cluster

    event = looker.event
    if not event.clusters:
        looker.add("warning", "no_clusters", looker.line("clusters"))
    for name, used in event.clusters.items():
        where = looker.line("clusters", name)
        try:
            cluster = load_cluster(name, [looker.folder])
        except ConfigError as error:
            looker.add("error", "cluster_wrong", where, cluster=name, what=error.message)
            continue
        except RequestError as error:
            looker.add("error", "cluster_unknown", where, what=error.message)
            continue
        _queue(looker, name, used, cluster)
        _budget(looker, name, used, cluster)
        if live:
            _ask(looker, name, used, cluster)
    default = event.defaults.cluster
    if default is not None and event.clusters and default not in event.clusters:
        where = looker.line("defaults", "cluster")
        looker.add("warning", "default_elsewhere", where, cluster=default, known=listing(event.clusters))
    budgets = [used.budget for used in event.clusters.values() if used.budget is not None]
    if event.when_spent == "refuse" and not budgets:
        looker.add("warning", "refuse_nothing", looker.line("when_spent"))


def _queue(looker: "Looker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    if used.queue is None or not cluster.queues or used.queue in cluster.queues:
        return
    where = looker.line("clusters", name, "queue")
    near = nearest(used.queue, cluster.queues)
    values: dict[str, Any] = {"queue": used.queue, "cluster": name, "near": near, "known": listing(cluster.queues)}
    looker.add("error", "queue_near" if near else "queue_unknown", where, **values)


def _budget(looker: "Looker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    """Note a budget that nothing can ever be counted against, and one that says nothing."""
    budget = used.budget
    if budget is None:
        return
    where = looker.line("clusters", name, "budget")
    if budget.node_hours is None and budget.gpu_hours is None and budget.tokens is None:
        looker.add("warning", "budget_empty", where, cluster=name)
    if budget.gpu_hours is not None and cluster.node.gpus == 0:
        looker.add("error", "budget_gpus", where, cluster=name)
    rates = cluster.rates
    if budget.tokens is not None and not (rates.per_node_hour or rates.per_gpu_hour):
        looker.add("error", "budget_tokens", where, cluster=name)


def _ask(looker: "Looker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    from hackathon.schedulers import registry, runner

    where = looker.line("clusters", name, "queue")
    try:
        queues = {queue.name: queue for queue in runner.queues(registry.load(cluster.scheduler))}
    except HackathonError as error:
        looker.add("warning", "live_silent", where, cluster=name, what=error.message)
        return
    wanted = used.queue or cluster.queue
    if wanted is None:
        return
    if wanted not in queues:
        known = listing(sorted(queues)) or "–"
        looker.add("error", "live_unknown", where, queue=wanted, cluster=name, known=known)
    elif not queues[wanted].enabled:
        looker.add("warning", "live_closed", where, queue=wanted, cluster=name, note=queues[wanted].note)


def wants_group(looker: "Looker") -> str:
    """Return a cluster of the event whose scheduler needs a group that pays; empty when none does."""
    from hackathon.config.load import load_cluster

    for name in looker.event.clusters:
        try:
            cluster = load_cluster(name, [Path(looker.folder)])
        except HackathonError:
            continue
        if cluster.scheduler == "pbs" and cluster.dialect.group in ("group_list", "project"):
            return name
    return ""
