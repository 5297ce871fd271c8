"""What an event's teams used of its clusters, by team, day and account, and what remains of their budgets."""

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
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.printable import printable
from hackathon.usage.days import zone
from hackathon.usage.rows import Profiles, UsageRow, divided

if TYPE_CHECKING:
    from hackathon.config.event import Budget, Event
    from hackathon.index.catalog import Catalog
    from hackathon.index.record import RunEntry
    from hackathon.schedulers.base import Scheduler

_ODD_TEXTS = {
    "clock": N_(
        "run {run}: its end is before its start, or its start is in the future; not counted. Check the clock of "
        "the node."
    ),
    "long": N_("run {run}: its records say that it took much longer than its walltime; counted with its walltime."),
    "nodes": N_("run {run}: impossible number of nodes or GPUs; counted with the known hosts."),
    "more": N_("{folder}: {count} more runs like these"),
}

_JOB_TEXTS = {
    "other_owner": N_(
        "run {run}: its files name job {job}, which belongs to {who}; counted from the run's own records"
    ),
    "other_run": N_(
        "run {run}: its files name job {job}, which is the job of another run ({who}); counted from the run's own "
        "records"
    ),
    "unnamed": N_(
        "run {run}: its files name job {job} ({who}); it is not known whose job that is, because the accounting "
        "does not show an owner; counted from the run's own records"
    ),
    "untold": N_(
        "{folder}: it is not known whether the jobs of {count} {count:run|runs} belong to the owners of the runs; "
        "the accounting does not show an owner"
    ),
}

KEYS = ("team", "day", "user")
"""Keys by which rows can be summed; clusters are never summed together."""


@dataclass(frozen=True)
class Amount:
    """How much of one quantity was used, and how much is available."""

    kind: str
    """One of jobs.cost.KINDS."""
    used: float
    budget: float | None = None

    @property
    def share(self) -> float | None:
        """Used ÷ budget; None without a budget or if the budget is 0."""
        return self.used / self.budget if self.budget else None

    @property
    def left(self) -> float | None:
        """The rest of the budget, negative if more was used; None without a budget."""
        return None if self.budget is None else self.budget - self.used


@dataclass(frozen=True)
class Sum:
    """The use of one cluster by a team, on a day, by an account, or by all of them."""

    cluster: str
    spent: Spent
    team: str | None = None
    """None if teams are summed together; `day` and `user` work the same way."""
    day: str | None = None
    user: str | None = None
    known: bool = True
    """Whether hackathon.yaml has the team."""
    jobs: int = 0
    running: int = 0
    no_end: int = 0
    unclear: int = 0
    basis: str = ""
    """scheduler, markers or limit; mixed; empty if nothing ran."""
    budget: "Budget | None" = None
    """The total that may be used; None if there is no limit, or if days or accounts are separated."""

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """The use of each quantity that this cluster counts or that has a budget; node-hours always."""
        amounts = []
        for kind in KINDS:
            limit = getattr(self.budget, kind) if self.budget is not None else None
            counted = kind == "node_hours" or self.spent.of(kind) > 0 or limit is not None
            if counted or (kind == "tokens" and self.spent.tokens is not None):
                amounts.append(Amount(kind, self.spent.of(kind), limit))
        return tuple(amounts)


@dataclass(frozen=True)
class Usage:
    """The use of a set of runs."""

    runs: tuple[Counted, ...]
    event: "Event | None"
    profiles: Profiles
    members: Members
    now: float
    zone: str
    """The time zone of the days, e.g. `JST (UTC+09:00)`."""
    since: float | None = None
    until: float | None = None
    folders: int = 0
    """Number of folders of runs that were found."""
    unread: int = 0
    """Number of them that this account cannot read."""
    asked: bool = False
    """Whether schedulers were asked for their accounting."""
    problems: tuple[str, ...] = ()
    """Messages about records that cannot be read or are not plausible."""
    twice: Mapping[str, str] = field(default_factory=dict)
    """Key of an adopted run → the run for which its job is already counted."""

    @property
    def teams(self) -> tuple[str, ...]:
        """Teams of the event, in its order."""
        return tuple(team.name for team in self.event.teams) if self.event else ()

    @functools.cached_property
    def rows(self) -> tuple[UsageRow, ...]:
        """The finest division, which includes days."""
        return self._divided(self.since, self.until, days=True)

    @functools.cached_property
    def _whole(self) -> tuple[UsageRow, ...]:
        """The rows without days: their sums equal those on every other page."""
        if self.since is None and self.until is None:
            return self._divided(None, None, days=False)
        return self.rows

    def _divided(self, since: float | None, until: float | None, *, days: bool) -> tuple[UsageRow, ...]:
        return divided(self.runs, self.twice, self.members, self.profiles, self.now, since, until, days=days)

    def sums(self, *keys: str) -> list[Sum]:
        """Return sums by cluster and by `keys` (of KEYS), in the order of teams, then days and accounts.

        Sums by team, and totals, include budgets and list teams that used nothing with 0.
        """
        groups: dict[tuple[str | None, ...], list[UsageRow]] = {}
        for row in self.rows if "day" in keys else self._whole:
            named = [getattr(row, key) if key in keys else None for key in KEYS]
            if "team" in keys and not row.team:
                named[KEYS.index("user")] = row.user  # accounts without a team stay separate
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
        """Return the use of all of these runs by cluster, compared with the team's budget.

        The event's clusters come first. For the runs of one team, or of a project without a team.
        """
        named = team in self.teams
        groups: dict[str, list[UsageRow]] = {name: [] for name in self._event_clusters() if name and named}
        for row in self._whole:
            groups.setdefault(row.cluster, []).append(row)
        return [self._sum(team, None, None, cluster, rows) for cluster, rows in groups.items()]

    def _event_clusters(self) -> list[str]:
        """Return the clusters that have a budget, else all of the event's, else one empty name."""
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
        """Return the budget of a team, or of all teams together; None for a part of the time."""
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
    """Return the use of an event's runs, including those below its folder without a team, and of the runs in `folders`.

    Runs that have not ended count until `now` (seconds since 1970, by default the clock's time). Only the time between
    `since` and `until` counts. With `ask`, schedulers are asked for their accounting in batched calls; otherwise the
    runs' own markers and earlier answers of the schedulers count. Nothing is written in the folder of a run. `problems`
    lists what cannot be read.
    """
    moment = time.time() if now is None else now
    more: list[str] = []
    projects, problems = find_projects(event_folder, event, folders, strays=more)
    reads, silent = read_uses(projects, bounds_of(event_folder, event, folders), now=moment, ask=ask, load=load)
    runs = tuple(run for read in reads for run in read.counted)
    twice = counted_twice((run.key, run.use) for run in runs)
    doubled = [
        _("run {run}: its job is already counted as run {other}", run=key.rpartition("//")[2], other=other)
        for key, other in twice.items()
    ]
    texts = [text for read in reads for text in read.problems]
    usage = Usage(
        runs=runs,
        event=event,
        profiles=profiles_of(event_folder, projects),
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
    """The use of the runs of an index, as far as it is known without asking a scheduler."""

    def __init__(self, source: "Catalog") -> None:
        self._source = source
        self._members = Members(source.event)
        self._profiles = profiles_of(source.event_folder, source.projects)
        self._projects = {str(project.path): project for project in source.projects}
        doubles = source.doubles
        self._twice = doubles_of(source.entries) if doubles is None else doubles

    def of(self, runs: "Iterable[RunEntry]") -> Usage:
        """Return the use of these runs; each job counts once among all runs of the index."""
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
                yield Counted(project_of(run, self._projects), run.use)


def project_of(run: "RunEntry", projects: Mapping[str, ProjectFolder]) -> ProjectFolder:
    """Return the project of a run; `projects`: folder → project."""
    return projects.get(run.project) or ProjectFolder(Path(run.project))


def _odd(read: ProjectUses, now: float) -> list[str]:
    """Return messages about runs whose records cannot be true."""
    odd = [(use.id, word) for use in read.uses if (word := use.held(now).odd)]
    texts = [_(_ODD_TEXTS[word], run=identifier) for identifier, word in odd[:LISTED_ONE_BY_ONE]]
    if len(odd) > LISTED_ONE_BY_ONE:
        texts.append(
            _("{folder}: {count} more runs like these", count=len(odd) - LISTED_ONE_BY_ONE, folder=read.project.path)
        )
    return texts


def _doubted(read: ProjectUses) -> list[str]:
    """Return messages about runs whose jobs, by the scheduler's accounting, are others' or not clearly theirs."""
    doubts = [(use, use.doubt) for use in read.uses if use.doubt is not None]
    claims = [(use, word, owner) for use, (word, owner) in doubts if word in NOT_THE_RUNS]
    texts = [
        _(_JOB_TEXTS[word], run=use.id, job=printable(use.job_id), who=owner)
        for use, word, owner in claims[:LISTED_ONE_BY_ONE]
    ]
    if len(claims) > LISTED_ONE_BY_ONE:
        texts.append(
            _("{folder}: {count} more runs like these", count=len(claims) - LISTED_ONE_BY_ONE, folder=read.project.path)
        )
    if len(claims) < len(doubts):
        texts.append(
            ngettext(
                "{folder}: it is not known whether the jobs of {count} run belong to the owners of the runs; "
                "the accounting does not show an owner",
                "{folder}: it is not known whether the jobs of {count} runs belong to the owners of the runs; "
                "the accounting does not show an owner",
                len(doubts) - len(claims),
                count=len(doubts) - len(claims),
                folder=read.project.path,
            )
        )
    return texts


def profiles_of(event_folder: Path | None, projects: Sequence[ProjectFolder]) -> Profiles:
    """Return the cluster profiles of an event, or of the first project."""
    return Profiles([event_folder] if event_folder is not None else [project.path for project in projects[:1]])
