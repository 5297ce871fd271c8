"""Check the clusters of an event: profiles, queues, reservations, budgets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.problems import ConfigError, listing, nearest
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import Message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import EventCluster
    from hackathon.event.check_report import Checker


def look(checker: "Checker", *, live: bool) -> None:
    """Note the troubles; with `live`, the scheduler of each cluster is asked about its queues, once."""
    from hackathon.schedulers.registry import load_cluster

    event = checker.event
    if not event.clusters:
        checker.add(
            "warning",
            Message(
                "event_check.no_clusters",
                "the event has no cluster",
                hint="Add `clusters:`; `hackathon clusters` lists the known ones.",
            ),
            checker.line("clusters"),
        )
    for name, used in event.clusters.items():
        line = checker.line("clusters", name)
        try:
            cluster = load_cluster(name, [checker.folder])
        except ConfigError as error:
            checker.add(
                "error",
                Message("event_check.cluster_wrong", "the profile of {cluster} has an error: {what}"),
                line,
                cluster=name,
                what=error.message,
            )
            continue
        except RequestError as error:
            checker.add(
                "error",
                Message(
                    "event_check.cluster_unknown",
                    "{what}",
                    hint="To add a cluster, write templates/clusters/NAME.yaml beside hackathon.yaml.",
                ),
                line,
                what=error.message,
            )
            continue
        _queue(checker, name, used, cluster)
        _budget(checker, name, used, cluster)
        if live:
            _ask(checker, name, used, cluster)
    default = event.defaults.cluster
    if default is not None and event.clusters and default not in event.clusters:
        line = checker.line("defaults", "cluster")
        checker.add(
            "warning",
            Message(
                "event_check.default_elsewhere",
                "the default cluster {cluster} is not one of the event's clusters: {known}",
            ),
            line,
            cluster=default,
            known=listing(event.clusters),
        )
    budgets = [used.budget for used in event.clusters.values() if used.budget is not None]
    if event.when_spent == "refuse" and not budgets:
        checker.add(
            "warning",
            Message("event_check.refuse_nothing", "`when_spent: refuse` is set, but no budget"),
            checker.line("when_spent"),
        )


def _queue(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    problem = queue_problem(name, used.queue or "", cluster)
    if problem is not None:
        message, values = problem
        checker.add("error", message, checker.line("clusters", name, "queue"), **values)


def queue_problem(name: str, queue: str, cluster: "Cluster") -> tuple[Message, dict[str, Any]] | None:
    """Return a message and its values if a cluster's profile lacks a queue; None if it has it, or lists no queues."""
    if not queue or not cluster.queues or queue in cluster.queues:
        return None
    near = nearest(queue, cluster.queues)
    values = {"queue": queue, "cluster": name, "near": near, "known": listing(cluster.queues)}
    if near:
        return Message("event_check.queue_near", "{cluster} has no queue {queue}; did you mean `{near}`?"), values
    return (
        Message(
            "event_check.queue_unknown",
            "{cluster} has no queue {queue}; known: {known}",
            hint="If the queue was created for the event: copy the cluster's profile to "
            "templates/clusters/{cluster}.yaml beside hackathon.yaml and add the queue there under `queues:` "
            "(hackathon docs add-a-cluster)",
        ),
        values,
    )


def _budget(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    """Note a budget in a unit that the cluster does not count, and an empty budget."""
    budget = used.budget
    if budget is None:
        return
    line = checker.line("clusters", name, "budget")
    if budget.node_hours is None and budget.gpu_hours is None and budget.tokens is None:
        checker.add(
            "warning",
            Message(
                "event_check.budget_empty",
                "the budget on {cluster} is empty",
                hint="Set node_hours, gpu_hours, or tokens.",
            ),
            line,
            cluster=name,
        )
    if budget.gpu_hours is not None and cluster.node.gpus == 0:
        checker.add(
            "error",
            Message(
                "event_check.budget_gpus",
                "the budget on {cluster} is in GPU-hours, but its nodes have no GPU: nothing would be counted",
                hint="Set node_hours instead.",
            ),
            line,
            cluster=name,
        )
    rates = cluster.rates
    if budget.tokens is not None and not (rates.per_node_hour or rates.per_gpu_hour):
        checker.add(
            "error",
            Message(
                "event_check.budget_tokens",
                "the budget on {cluster} is in tokens, but its profile has no rates: nothing would be counted",
                hint="Add `rates` to the profile, or set node_hours instead.",
            ),
            line,
            cluster=name,
        )


def _ask(checker: "Checker", name: str, used: "EventCluster", cluster: "Cluster") -> None:
    from hackathon.schedulers import runner
    from hackathon.schedulers.registry import scheduler_of

    line = checker.line("clusters", name, "queue")
    try:
        queues = {queue.name: queue for queue in runner.queues(scheduler_of(cluster))}
    except HackathonError as error:
        checker.add(
            "warning",
            Message(
                "event_check.live_silent",
                "the scheduler of {cluster} does not answer here: {what}",
                hint="Try --live on a login node.",
            ),
            line,
            cluster=name,
            what=error.message,
        )
        return
    queue = used.queue or cluster.queue
    if queue is None:
        return
    if queue not in queues:
        available = listing(sorted(queues)) or "–"
        checker.add(
            "error",
            Message("event_check.live_unknown", "the scheduler of {cluster} has no queue {queue}; it has: {known}"),
            line,
            queue=queue,
            cluster=name,
            known=available,
        )
    elif not queues[queue].enabled:
        checker.add(
            "warning",
            Message("event_check.live_closed", "queue {queue} of {cluster} does not accept jobs now {note}"),
            line,
            queue=queue,
            cluster=name,
            note=queues[queue].note,
        )


def wants_group(checker: "Checker") -> str:
    """Return a cluster of the event whose scheduler requires a group to charge; empty if none does."""
    from hackathon.schedulers.registry import dialect_of, load_cluster

    for name in checker.event.clusters:
        try:
            wants_group = dialect_of(load_cluster(name, [Path(checker.folder)])).wants_group
        except HackathonError:
            continue
        if wants_group:
            return name
    return ""
