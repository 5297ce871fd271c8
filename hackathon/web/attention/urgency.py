"""The order of matters on the Now page and in `hackathon top`: by what they cost, then by kind.

A matter that holds nodes for nothing comes first: jobs without progress and jobs with idle GPUs lose one node-hour per
hour on each of their nodes. Matters that cost nothing follow by kind, in the order of `trouble.KINDS`: budgets,
requests, failures, long waits, other.
"""

from collections.abc import Iterable, Sequence

from hackathon.index.record import RunEntry
from hackathon.runs.states import RUNNING
from hackathon.web.attention.records import NowItem
from hackathon.web.views.trouble import KINDS

LOSING = ("stands", "idle")
"""Kinds of trouble in which a running job holds its nodes for nothing."""


def lost_per_hour(kind: str, runs: Iterable[RunEntry]) -> int:
    """Return the node-hours that runs in one kind of trouble lose per hour: the nodes of the running ones.

    A run whose number of nodes is unknown counts as one node.
    """
    if kind not in LOSING:
        return 0
    return sum(max(1, run.nodes) for run in runs if run.state == RUNNING)


def urgency(kind: str, lost: float) -> tuple[float, int]:
    """Return the sort key of a matter of one of `trouble.KINDS` that loses so many node-hours per hour."""
    return -lost, KINDS.index(kind)


def by_urgency(items: Sequence[NowItem]) -> list[NowItem]:
    """Return matters with the most expensive first; equal ones keep their order, which is by age."""
    return sorted(items, key=lambda item: urgency(item.kind, item.lost_per_hour))
