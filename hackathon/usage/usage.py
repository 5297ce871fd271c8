"""What an event's teams used of its clusters, by team, day and account, and what is left of their budgets."""

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.index.catalog import doubles_of
from hackathon.index.members import Members
from hackathon.index.projects import ProjectFolder, bounds_of, find_projects
from hackathon.index.uses import LISTED_ONE_BY_ONE, Counted, ProjectUses, read_uses
from hackathon.jobs.cost import KINDS, Spent, spent
from hackathon.runs.lives import NOT_THE_RUNS, counted_twice
from hackathon.text.messages import message
from hackathon.text.printable import printable
from hackathon.usage.days import zone
from hackathon.usage.rows import Profiles, UsageRow, divided

if TYPE_CHECKING:
    from hackathon.config.event import Budget, Event
    from hackathon.index.catalog import Catalog
    from hackathon.index.record import RunEntry
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
        amounts = []
        for kind in KINDS:
            limit = getattr(self.budget, kind) if self.budget is not None else None
            counted = kind == "node_hours" or self.spent.of(kind) > 0 or limit is not None
            if counted or (kind == "tokens" and self.spent.tokens is not None):
                amounts.append(Amount(kind, self.spent.of(kind), limit))
        return tuple(amounts)


@dataclass(frozen=True)
class Usage:
    """What was used, by the runs that count."""

    runs: tuple[Counted, ...]
    event: "Event | None"
    profiles: Profiles
    members: Members
    now: float
    zone: str
    """The zone of the days, e.g. `JST (UTC+09:00)`."""
    since: float | None = None
    until: float | None = None
    folders: int = 0
    """Folders of runs that were found."""
    unread: int = 0
    """Those of them that this account cannot read."""
    asked: bool = False
    """Whether schedulers were asked for their accounts."""
    problems: tuple[str, ...] = ()
    """What could not be read or believed, in words."""
    twice: Mapping[str, str] = field(default_factory=dict)
    """Key of an adopted run → the run that its job is counted for already."""

    @property
    def teams(self) -> tuple[str, ...]:
        """Teams of the event, in its order."""
        return tuple(team.name for team in self.event.teams) if self.event else ()

    @functools.cached_property
    def rows(self) -> tuple[UsageRow, ...]:
        """The finest division, by day too."""
        return self._divided(self.since, self.until, days=True)

    @functools.cached_property
    def _whole(self) -> tuple[UsageRow, ...]:
        """The same without days, so that a sum over them is that of every other page."""
        if self.since is None and self.until is None:
            return self._divided(None, None, days=False)
        return self.rows

    def _divided(self, since: float | None, until: float | None, *, days: bool) -> tuple[UsageRow, ...]:
        return divided(self.runs, self.twice, self.members, self.profiles, self.now, since, until, days=days)

    def sums(self, *keys: str) -> list[Sum]:
        """Return sums by cluster and by `keys` (of KEYS), in the order of teams, then days and accounts.

        By team, and by nothing, budgets come with them, and teams that used nothing are there with 0.
        """
        groups: dict[tuple[str | None, ...], list[UsageRow]] = {}
        for row in self.rows if "day" in keys else self._whole:
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
        sums = [self._sum(team, day, user, str(cluster), rows) for (team, day, user, cluster), rows in groups.items()]
        order = {team: number for number, team in enumerate(self.teams)}
        return sorted(
            sums,
            key=lambda part: (
                order.get(part.team or "", len(order)), not part.team, part.team or "", part.day or "", part.user or "",
                part.cluster,
            ),
        )  # fmt: skip

    def of_team(self, team: str) -> list[Sum]:
        """Return what all of these runs used by cluster, as a team's: against its budget, clusters of the event first.

        For the runs of one team, or of a project that belongs to none.
        """
        named = team in self.teams
        groups: dict[str, list[UsageRow]] = {name: [] for name in self._event_clusters() if name and named}
        for row in self._whole:
            groups.setdefault(row.cluster, []).append(row)
        return [self._sum(team, None, None, cluster, rows) for cluster, rows in groups.items()]

    def _event_clusters(self) -> list[str]:
        """Return the clusters for which there is a budget, else all of the event; one without a name for none."""
        entries = self.event.clusters if self.event else {}
        return [name for name, entry in entries.items() if entry.budget] or list(entries) or [""]

    def _sum(self, team: str | None, day: str | None, user: str | None, cluster: str, rows: Sequence[UsageRow]) -> Sum:
        profile = self.profiles.get(cluster)
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
    counts, and what schedulers said before. Nothing is written in any run's folder, and what cannot be read is told.
    """
    moment = time.time() if now is None else now
    more: list[str] = []
    projects, problems = find_projects(event_folder, event, folders, strays=more)
    reads, silent = read_uses(projects, bounds_of(event_folder, event, folders), now=moment, ask=ask, load=load)
    runs = tuple(run for read in reads for run in read.counted)
    twice = counted_twice((run.key, run.use) for run in runs)
    doubled = [message("usage.twice", run=key.rpartition("//")[2], other=other) for key, other in twice.items()]
    texts = [text for read in reads for text in read.problems]
    usage = Usage(
        runs=runs,
        event=event,
        profiles=_profiles(event_folder, projects),
        members=Members(event),
        now=moment,
        zone=zone(moment),
        since=since,
        until=until,
        folders=len(reads),
        unread=sum(not read.readable for read in reads),
        asked=ask,
        twice=twice,
    )
    odd = [text for read in reads for text in (*_odd(read, moment), *_doubted(read))]
    return replace(usage, problems=tuple(dict.fromkeys([*problems, *more, *texts, *odd, *doubled, *silent])))


class Ledger:
    """What the runs of an index used, as far as that is known without asking anybody."""

    def __init__(self, source: "Catalog") -> None:
        self._source = source
        self._members = Members(source.event)
        self._profiles = _profiles(source.event_folder, source.projects)
        self._projects = {str(project.path): project for project in source.projects}
        doubles = source.doubles
        self._twice = doubles_of(source.entries) if doubles is None else doubles

    def of(self, runs: "Iterable[RunEntry]") -> Usage:
        """Return what these runs used, each job counted once among all runs of the index."""
        return Usage(
            runs=tuple(self._counted(runs)),
            event=self._source.event,
            profiles=self._profiles,
            members=self._members,
            now=self._source.now,
            zone=zone(self._source.now),
            twice=self._twice,
        )

    def _counted(self, runs: "Iterable[RunEntry]") -> Iterator[Counted]:
        for run in runs:
            if run.use is not None:
                yield Counted(self._projects.get(run.project) or ProjectFolder(Path(run.project)), run.use)


def _odd(read: ProjectUses, now: float) -> list[str]:
    """Return what of some runs' records cannot be true, in words."""
    odd = [(use.id, word) for use in read.uses if (word := use.held(now).odd)]
    texts = [message(f"usage.odd_{word}", run=identifier) for identifier, word in odd[:LISTED_ONE_BY_ONE]]
    if len(odd) > LISTED_ONE_BY_ONE:
        texts.append(message("usage.odd_more", count=len(odd) - LISTED_ONE_BY_ONE, folder=read.project.path))
    return texts


def _doubted(read: ProjectUses) -> list[str]:
    """Return which runs name jobs that the scheduler's accounting shows as others', or does not show as theirs."""
    doubts = [(use, use.doubt) for use in read.uses if use.doubt is not None]
    claims = [(use, word, owner) for use, (word, owner) in doubts if word in NOT_THE_RUNS]
    texts = [
        message(f"usage.job_{word}", run=use.id, job=printable(use.job_id), who=owner)
        for use, word, owner in claims[:LISTED_ONE_BY_ONE]
    ]
    if len(claims) > LISTED_ONE_BY_ONE:
        texts.append(message("usage.odd_more", count=len(claims) - LISTED_ONE_BY_ONE, folder=read.project.path))
    if len(claims) < len(doubts):
        texts.append(message("usage.job_untold", count=len(doubts) - len(claims), folder=read.project.path))
    return texts


def _profiles(event_folder: Path | None, projects: Sequence[ProjectFolder]) -> Profiles:
    """Return the profiles of clusters as an event, or the first project, has them."""
    return Profiles([event_folder] if event_folder is not None else [project.path for project in projects[:1]])
