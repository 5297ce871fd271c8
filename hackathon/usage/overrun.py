"""Budgets of teams that are used up, or that running jobs use up today."""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hackathon.index.catalog import doubles_of
from hackathon.index.members import Members
from hackathon.index.record import key_of
from hackathon.index.uses import Counted
from hackathon.jobs.cost import KINDS, spent
from hackathon.runs.lives import GOING, gpus_of
from hackathon.usage.budget import CRUMB, budget_of
from hackathon.usage.days import next_midnight
from hackathon.usage.rows import Profiles, UsageRow, divided
from hackathon.usage.usage import Amount, profiles_of, project_of

if TYPE_CHECKING:
    from hackathon.config.cluster import Rates
    from hackathon.config.event import Event
    from hackathon.index.catalog import Catalog
    from hackathon.runs.lives import RunUse

PROFILES_FOR = 60.0
"""Seconds for which the profiles of clusters are reused."""


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


@dataclass
class _Closed:
    """The use of closed runs, which does not change, between two looks."""

    event: "Event"
    members: Members
    profiles: Profiles
    read: float
    """When the profiles were read, by a clock that only goes on."""
    rows: dict[str, tuple["RunUse", tuple[UsageRow, ...]]] = field(default_factory=dict)
    """Key of a run → the use from which its rows were made, and these."""


def overruns(source: "Catalog") -> list[Overrun]:
    """Return the budgets that are used up, the largest share first, then those that will be before midnight.

    The sums are those of `usage.Ledger`. Running jobs count until the end of their walltime. Queued jobs do not count,
    because their start is not known. Empty for an event without budgets.
    """
    event = source.event
    limits = {name: limit for name in event.clusters if (limit := budget_of(event, name))} if event else {}
    if event is None or not limits:
        return []
    closed = _closed(source, event)
    sums, going = _sums(source, closed, frozenset(limits))
    midnight = next_midnight(source.now)
    matches = []
    for team in (entry.name for entry in event.teams):
        for cluster, limit in limits.items():
            profile = closed.profiles.get(cluster)
            rates = profile.rates if profile else None
            nodes, gpus = sums.get((team, cluster), ([], []))
            used = spent(math.fsum(nodes), math.fsum(gpus), rates)
            for kind in KINDS:
                budget = getattr(limit, kind)
                if not budget:
                    continue
                amount = Amount(kind, used.of(kind), float(budget))
                moment = None
                if amount.used < float(budget) - CRUMB:
                    moment = used_up_at(amount, going.get((team, cluster), ()), source.now, rates)
                    if moment is None or moment >= midnight:
                        continue
                matches.append(Overrun(team, cluster, amount, moment))
    return sorted(matches, key=lambda match: (match.moment or 0.0, -(match.amount.share or 0.0)))


def used_up_at(amount: Amount, jobs: Iterable[RunningJob], now: float, rates: "Rates | None") -> float | None:
    """Return when running jobs use up the rest of a budget, in seconds since 1970; None if they end before."""
    left, begin = amount.left or 0.0, now
    going = sorted(jobs, key=lambda job: job.until)
    while going:
        per_hour = spent(3600.0 * sum(job.nodes for job in going), 3600.0 * sum(job.gpus for job in going), rates).of(
            amount.kind
        )
        until = going[0].until
        if per_hour > 0 and left <= per_hour * (until - begin) / 3600:
            return begin + 3600 * left / per_hour
        left -= per_hour * (until - begin) / 3600 if per_hour else 0.0
        begin = until
        going.pop(0)
    return None


def _closed(source: "Catalog", event: "Event") -> _Closed:
    """Return the known use of closed runs; empty after a change of the event or of a cluster's profile."""
    key = str(source.event_folder)
    kept: _Closed | None = source.memory.recall("closed", key)
    if kept is None or kept.event != event:
        kept = _Closed(event, Members(event), profiles_of(source.event_folder, source.projects), time.monotonic())
        source.memory.keep("closed", key, kept, 4)
    elif time.monotonic() - kept.read > PROFILES_FOR:
        profiles = profiles_of(source.event_folder, source.projects)
        same = all(profiles.get(name) == profile for name, profile in kept.profiles.known.items())
        kept.read = time.monotonic()
        if not same:
            kept = _Closed(event, kept.members, profiles, kept.read)
            source.memory.keep("closed", key, kept, 4)
    return kept


def _sums(
    source: "Catalog", closed: _Closed, clusters: frozenset[str]
) -> tuple[dict[tuple[str, str], tuple[list[float], list[float]]], dict[tuple[str, str], list[RunningJob]]]:
    """Return (team, cluster) → node-seconds and GPU-seconds of its runs, and (team, cluster) → its running jobs."""
    doubles = source.doubles
    twice = doubles_of(source.entries) if doubles is None else doubles
    projects = {str(project.path): project for project in source.projects}
    sums: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    going: dict[tuple[str, str], list[RunningJob]] = {}
    for entry in source.entries:
        use = entry.use
        if use is None or use.cluster not in clusters:
            continue
        key = key_of(entry.project, entry.id)
        if key in twice:
            continue
        known = closed.rows.get(key)
        if known is not None and (known[0] is use or known[0] == use):
            rows = known[1]
        else:
            run = Counted(project_of(entry, projects), use)
            rows = divided([run], {}, closed.members, closed.profiles, source.now, days=False)
            if use.closed:
                closed.rows[key] = use, rows
            elif (job := _running(use, closed.profiles, source.now)) is not None:
                team = closed.members.team_of_run(run.project, use)
                going.setdefault((team, use.cluster), []).append(job)
        for row in rows:
            nodes, gpus = sums.setdefault((row.team, row.cluster), ([], []))
            nodes.append(row.node_seconds)
            gpus.append(row.gpu_seconds)
    return sums, going


def _running(use: "RunUse", profiles: Profiles, now: float) -> RunningJob | None:
    """Return the nodes and GPUs that a running job holds; None for another job."""
    held = use.held(now)
    if held.state != GOING or not held.lives:
        return None
    life = held.lives[-1]
    until = now + held.still(use.walltime) if use.walltime else math.inf
    return RunningJob(life.nodes, gpus_of(use, life, profiles.get(use.cluster)), until)
