"""What an event's teams used of its clusters, by team, day and account, and what is left of their budgets."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.jobs.cost import KINDS, Spent, spent
from hackathon.share.places import bounds_of, find_projects
from hackathon.share.usage_days import zone
from hackathon.share.usage_read import read_projects
from hackathon.share.usage_rows import Profiles, Row, divided

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import Budget, Event
    from hackathon.schedulers.base import Scheduler

KEYS = ("team", "day", "user")
"""What rows can be summed by; clusters are never summed together."""


@dataclass(frozen=True)
class Amount:
    """What was used of one thing, and how much of it there is."""

    kind: str
    """One of jobs.cost.KINDS."""
    used: float
    budget: float | None = None

    @property
    def share(self) -> float | None:
        """Used ÷ budget; None without a budget, and of a budget of nothing."""
        return self.used / self.budget if self.budget else None

    @property
    def left(self) -> float | None:
        """What is left, negative when more was used; None without a budget."""
        return None if self.budget is None else self.budget - self.used


@dataclass(frozen=True)
class Sum:
    """What was used on one cluster by a team, on a day, by an account, or by all of them."""

    cluster: str
    spent: Spent
    team: str | None = None
    """None where teams are summed together; so are day and user."""
    day: str | None = None
    user: str | None = None
    known: bool = True
    """Whether hackathon.yaml has the team."""
    jobs: int = 0
    running: int = 0
    no_end: int = 0
    unclear: int = 0
    basis: str = ""
    """scheduler, markers, limit; mixed; empty where nothing ran."""
    budget: "Budget | None" = None
    """What may be used in all; None where there is no limit, or days or accounts are told apart."""

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """What was used of each thing that this cluster knows or that has a budget: node-hours always."""
        found = []
        for kind in KINDS:
            limit = getattr(self.budget, kind) if self.budget is not None else None
            told = kind == "node_hours" or self.spent.of(kind) > 0 or limit is not None
            if told or (kind == "tokens" and self.spent.tokens is not None):
                found.append(Amount(kind, self.spent.of(kind), limit))
        return tuple(found)


@dataclass(frozen=True)
class Usage:
    """What was used; rows are the finest division."""

    rows: tuple[Row, ...]
    event: "Event | None"
    clusters: "dict[str, Cluster | None]"
    """Profiles by name; None where there is none, and so no rate."""
    now: float
    zone: str
    """The zone of the days, e.g. `JST (UTC+09:00)`."""
    since: float | None = None
    until: float | None = None
    folders: int = 0
    """Folders of runs that were found."""
    unread: int = 0
    """Those of them that this account can not read."""
    asked: bool = False
    """Whether schedulers were asked for their accounts."""
    problems: tuple[str, ...] = ()
    """What could not be read or believed, in words."""
    teams: tuple[str, ...] = field(default=())
    """Teams of the event, in its order."""

    def sums(self, *keys: str) -> list[Sum]:
        """Return sums by cluster and by `keys` (of KEYS), in the order of teams, then days and accounts.

        By team, and by nothing, budgets come with them, and teams that used nothing are there with 0.
        """
        groups: dict[tuple[str | None, ...], list[Row]] = {}
        for row in self.rows:
            named = [getattr(row, key) if key in keys else None for key in KEYS]
            if "team" in keys and not row.team:
                named[KEYS.index("user")] = row.user  # accounts of no team are not thrown together
            groups.setdefault((*named, row.cluster), []).append(row)
        silent: list[str | None] = list(self.teams) if keys == ("team",) else [] if keys else [None]
        for team in silent:
            used = any(key[0] == team for key in groups)
            for name in self._event_clusters():
                if name or (team is not None and not used):
                    groups.setdefault((team, None, None, name), [])
        made = [self._sum(team, day, user, str(cluster), rows) for (team, day, user, cluster), rows in groups.items()]
        order = {team: number for number, team in enumerate(self.teams)}
        return sorted(
            made,
            key=lambda each: (
                order.get(each.team or "", len(order)), not each.team, each.team or "", each.day or "", each.user or "",
                each.cluster,
            ),
        )  # fmt: skip

    def _event_clusters(self) -> list[str]:
        """Return the clusters for which there is a budget, else all of the event; one without a name for none."""
        entries = self.event.clusters if self.event else {}
        return [name for name, entry in entries.items() if entry.budget] or list(entries) or [""]

    def _sum(self, team: str | None, day: str | None, user: str | None, cluster: str, rows: Sequence[Row]) -> Sum:
        profile = self.clusters.get(cluster)
        used = spent(
            math.fsum(row.node_seconds for row in rows),
            math.fsum(row.gpu_seconds for row in rows),
            profile.rates if profile else None,
        )
        bases = {basis for row in rows for basis in row.bases}
        return Sum(
            cluster=cluster,
            spent=used,
            team=team,
            day=day,
            user=user,
            known=team is None or team in self.teams,
            jobs=len(_all(row.jobs for row in rows)),
            running=len(_all(row.running for row in rows)),
            no_end=len(_all(row.no_end for row in rows)),
            unclear=len(_all(row.unclear for row in rows)),
            basis=next(iter(bases)) if len(bases) == 1 else "mixed" if bases else "",
            budget=self._budget(cluster, team) if day is None and user is None else None,
        )

    def _budget(self, cluster: str, team: str | None) -> "Budget | None":
        """Return the budget of a team, or of all teams together; none for a part of the time."""
        entry = self.event.clusters.get(cluster) if self.event else None
        if entry is None or entry.budget is None or self.since is not None or self.until is not None:
            return None
        if team is not None:
            return entry.budget if team in self.teams else None
        from dataclasses import replace

        limits = {kind: getattr(entry.budget, kind) for kind in KINDS}
        count = len(self.teams)
        return replace(entry.budget, **{name: value * count for name, value in limits.items() if value is not None})


def _all(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def usage(
    event: "Event | None",
    event_folder: Path | None,
    folders: Sequence[Path] = (),
    *,
    ask: bool = False,
    now: float | None = None,
    since: float | None = None,
    until: float | None = None,
    load: "Callable[[str], Scheduler] | None" = None,
) -> Usage:
    """Return what the runs of an event used, those below its own folder that belong to no team too, and of `folders`.

    Runs that go on count until `now` (seconds since 1970, default the clock's). `since`, `until`: only what lies
    between. With `ask` schedulers are asked for their accounts, in batched calls; else what the runs' own markers say
    counts, and what schedulers said before. Nothing is written in any run's folder, and what can not be read is told.
    """
    moment = time.time() if now is None else now
    own = [event_folder] if event_folder is not None else []
    projects, problems = find_projects(event_folder, event, [*own, *folders])
    bounds = bounds_of(event_folder, event, [*own, *folders])
    reads, silent = read_projects(projects, bounds, now=moment, ask=ask, load=load)
    profiles = Profiles([*own, *(project.path for project in projects[:1] if event_folder is None)])
    teams = tuple(team.name for team in event.teams) if event else ()
    rows, twice = divided(reads, event, profiles, since, until)
    told = [text for read in reads for text in read.problems]
    for name in [*(row.cluster for row in rows), *(event.clusters if event else ())]:
        profiles.get(name)
    return Usage(
        rows=rows,
        event=event,
        clusters=profiles.known,
        now=moment,
        zone=zone(moment),
        since=since,
        until=until,
        folders=len(reads),
        unread=sum(not read.readable for read in reads),
        asked=ask,
        problems=tuple(dict.fromkeys([*problems, *told, *twice, *silent])),
        teams=teams,
    )
