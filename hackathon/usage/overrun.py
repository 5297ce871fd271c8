"""Budgets of teams that are used up, or that running jobs use up today."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hackathon.jobs.cost import spent
from hackathon.runs.lives import GOING, gpus_of
from hackathon.usage.budget import CRUMB, budget_of
from hackathon.usage.days import next_midnight
from hackathon.usage.usage import Amount, Ledger, Usage

if TYPE_CHECKING:
    from hackathon.config.cluster import Rates
    from hackathon.index.catalog import Catalog


@dataclass(frozen=True)
class Overrun:
    """One quantity of a team's budget on one cluster that is used up, or will be today."""

    team: str
    cluster: str
    amount: Amount
    moment: float | None = None
    """When running jobs use up the rest, in seconds since 1970; None if nothing is left."""


class RunningJob(NamedTuple):
    """The nodes and GPUs that a running job holds, and until when at most, in seconds since 1970."""

    nodes: int
    gpus: int
    until: float


def overruns(source: "Catalog") -> list[Overrun]:
    """Return the budgets that are used up, the largest share first, then those that will be before midnight.

    Running jobs count until the end of their walltime. Queued jobs do not count, because their start is not known.
    Empty for an event without budgets.
    """
    event = source.event
    if event is None or not any(budget_of(event, cluster) for cluster in event.clusters):
        return []
    usage = Ledger(source).of(source.entries)
    midnight, going = next_midnight(source.now), _running(usage)
    matches = []
    for total in usage.sums("team"):
        profile = usage.profiles.get(total.cluster)
        jobs = going.get((total.team or "", total.cluster), [])
        for amount in total.amounts if total.known else ():
            if not amount.budget or not total.team:
                continue
            if amount.used >= amount.budget - CRUMB:
                matches.append(Overrun(total.team, total.cluster, amount))
                continue
            moment = used_up_at(amount, jobs, usage.now, profile.rates if profile else None)
            if moment is not None and moment < midnight:
                matches.append(Overrun(total.team, total.cluster, amount, moment))
    return sorted(matches, key=lambda match: (match.moment or 0.0, -(match.amount.share or 0.0)))


def used_up_at(amount: Amount, jobs: Iterable[RunningJob], now: float, rates: "Rates | None") -> float | None:
    """Return when running jobs use up the rest of a budget, in seconds since 1970; None if they end before."""
    left, begin = amount.left or 0.0, now
    going = sorted(jobs, key=lambda job: job.until)
    while going:
        per_hour = spent(
            3600.0 * sum(job.nodes for job in going), 3600.0 * sum(job.gpus for job in going), rates
        ).of(amount.kind)  # fmt: skip
        until = going[0].until
        if per_hour > 0 and left <= per_hour * (until - begin) / 3600:
            return begin + 3600 * left / per_hour
        left -= per_hour * (until - begin) / 3600 if per_hour else 0.0
        begin = until
        going.pop(0)
    return None


def _running(usage: Usage) -> dict[tuple[str, str], list[RunningJob]]:
    """Return (team, cluster) → the jobs that run now, each counted once."""
    going: dict[tuple[str, str], list[RunningJob]] = {}
    for run in usage.runs:
        use = run.use
        if use.closed or run.key in usage.twice:
            continue
        held = use.held(usage.now)
        if held.state != GOING or not held.lives:
            continue
        life = held.lives[-1]
        until = usage.now + held.still(use.walltime) if use.walltime else math.inf
        team = usage.members.team_of_run(run.project, use)
        gpus = gpus_of(use, life, usage.profiles.get(use.cluster))
        going.setdefault((team, use.cluster), []).append(RunningJob(life.nodes, gpus, until))
    return going
