"""All teams at a glance: the state of their runs, what they reached, what went wrong last, what they used."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon.jobs.cost import gpus_given, running_seconds, spent
from hackathon.text.errors import HackathonError
from hackathon.text.messages import language, localized
from hackathon.text.units import format_age
from hackathon.web.clean import line
from hackathon.web.grouping import Reached, TeamRuns, by_study, by_team, reached, run_key
from hackathon.web.machines import profile
from hackathon.web.records import Summary
from hackathon.web.source import Source

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster, Rates
    from hackathon.config.event import Budget

OPEN = ("RUNNING", "ENDING", "QUEUED", "HELD", "UNCERTAIN")
"""States of runs that are, or may be, with the scheduler, in the order in which they are shown."""


@dataclass(frozen=True)
class Amount:
    """What was used of one thing, and how much there is of it."""

    used: float
    budget: float | None = None

    @property
    def share(self) -> float | None:
        """Used ÷ budget; None without a budget."""
        return self.used / self.budget if self.budget else None


@dataclass(frozen=True)
class Use:
    """What runs used on one cluster, with those that go on until now."""

    cluster: str
    node_hours: Amount
    gpu_hours: Amount | None = None
    """None where no run had a GPU and none are given."""
    tokens: Amount | None = None
    """None where the cluster's profile has no rate."""

    @property
    def main(self) -> str:
        """The amount that is shown first: `gpu_hours`, or `node_hours` on machines without GPUs."""
        return "node_hours" if self.gpu_hours is None else "gpu_hours"


@dataclass(frozen=True)
class Trouble:
    """The newest diagnosed failure."""

    part: str
    message: str
    run: str
    """The key of the run's page."""
    when: float | None = None


@dataclass(frozen=True)
class TeamRow:
    """One team as the table shows it."""

    name: str
    """The key of its page, as it is."""
    shown: str = ""
    """The name to show."""
    title: str = ""
    runs: int = 0
    succeeded: int = 0
    failed: int = 0
    open: tuple[tuple[str, int], ...] = ()
    """(state, count) of runs that are with the scheduler."""
    best: Reached | None = None
    gpu_percent: float | None = None
    """Mean over the GPUs of runs that go on; of the newest run that tells it where none goes on."""
    trouble: Trouble | None = None
    use: tuple[Use, ...] = ()
    """By cluster, the one that was used most first."""
    last: float | None = None
    """When something happened last."""
    quiet: str = ""
    """How long ago that was: `4 min`; empty where nothing ever happened."""


@dataclass(frozen=True)
class TeamsView:
    """The table of all teams, and sums over it."""

    rows: tuple[TeamRow, ...]
    use: tuple[Use, ...]
    """Of all teams together, by cluster; budgets are those of all teams."""
    best: Reached | None
    best_team: str
    live: bool

    @property
    def active(self) -> int:
        """Teams with a run."""
        return sum(1 for row in self.rows if row.runs)

    @property
    def runs(self) -> int:
        """Runs of all teams."""
        return sum(row.runs for row in self.rows)

    @property
    def running(self) -> int:
        """Runs that go on."""
        return sum(count for row in self.rows for state, count in row.open if state in ("RUNNING", "ENDING"))


def values(source: Source, key: str) -> dict[str, Any] | None:
    """Return the values of the page of all teams."""
    if key:
        return None
    teams = by_team(source)
    prices = Prices(source)
    rows = tuple(team_row(team, source, prices) for team in teams)
    best = max((row for row in rows if row.best), key=lambda row: row.best.speedup if row.best else 0.0, default=None)
    view = TeamsView(
        rows=rows,
        use=_together([use for row in rows for use in row.use]),
        best=best.best if best else None,
        best_team=best.shown if best else "",
        live=source.live,
    )
    return {"view": view}


def team_row(team: TeamRuns, source: Source, prices: "Prices") -> TeamRow:
    """Return a team's line: from what the index holds alone."""
    states = Counter(run.state for run in team.runs)
    last = last_activity(team.runs)
    return TeamRow(
        name=team.name,
        shown=line(team.name, 100),
        title=line(localized(team.title), 300),
        runs=len(team.runs),
        succeeded=states["SUCCEEDED"],
        failed=len(team.runs) - states["SUCCEEDED"] - sum(states[state] for state in (*OPEN, "CREATED", "CANCELLED")),
        open=tuple((state, states[state]) for state in OPEN if states[state]),
        best=reached(by_study(team.runs)),
        gpu_percent=gpu_percent(team.runs),
        trouble=newest_trouble(team.runs),
        use=used(team.runs, source.now, prices, given=team.team is not None),
        last=last,
        quiet="" if last is None else format_age(max(0.0, source.now - last)),
    )


def gpu_percent(runs: Sequence[Summary]) -> float | None:
    """Return the mean utilisation over the GPUs of runs that go on, else the newest run's that tells it, 0…100."""
    told = [run for run in runs if run.gpu_percent is not None]
    going = [run for run in told if run.state in ("RUNNING", "ENDING")]
    if not going:
        return told[0].gpu_percent if told else None
    weights = [max(1, run.gpus) for run in going]
    return sum((run.gpu_percent or 0.0) * weight for run, weight in zip(going, weights, strict=True)) / sum(weights)


def newest_trouble(runs: Iterable[Summary]) -> Trouble | None:
    """Return the cause of the newest diagnosed failure in the current language."""
    for run in runs:
        if run.part:
            words = run.told_in(language())
            text = line(words.message, 500) if words else ""
            return Trouble(line(run.part, 60), text, run_key(run), run.ended or run.progress)
    return None


def last_activity(runs: Iterable[Summary]) -> float | None:
    """Return when a run of these was made, started, ended or wrote something last."""
    moments = (run.progress or run.ended or run.started or run.submitted or run.created for run in runs)
    return max((moment for moment in moments if moment is not None), default=None)


class Prices:
    """Budgets of the event and rates of the clusters' profiles, each profile read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._clusters = source.event.clusters if source.event else {}
        self._profiles: dict[str, Cluster | None] = {}

    @property
    def clusters(self) -> Iterable[str]:
        """The clusters for which the event gives a budget."""
        return [name for name, cluster in self._clusters.items() if cluster.budget]

    def budget(self, cluster: str) -> "Budget | None":
        """Return what each team may use on a cluster."""
        entry = self._clusters.get(cluster)
        return entry.budget if entry else None

    def rates(self, cluster: str) -> "Rates | None":
        """Return the rates of a cluster's profile; None when there is no such profile."""
        found = self.profile(cluster)
        return found.rates if found is not None else None

    def profile(self, cluster: str) -> "Cluster | None":
        """Return a cluster's profile, None when there is none or it can not be read."""
        if cluster not in self._profiles:
            try:
                self._profiles[cluster] = profile(self._source, cluster)
            except HackathonError:
                self._profiles[cluster] = None
        return self._profiles[cluster]


def used(runs: Iterable[Summary], now: float, prices: Prices, *, given: bool = True) -> tuple[Use, ...]:
    """Return what runs used by cluster; `given`: the event's budget is for them, and told even where nothing was used.

    A run that goes on counts until now, at most its walltime.
    """
    held: dict[str, list[float]] = {name: [0.0, 0.0] for name in prices.clusters} if given else {}
    for run in runs:
        seconds = run.seconds
        if seconds is None and run.started is not None and run.state in ("RUNNING", "ENDING"):
            seconds = running_seconds(run.started, now, run.walltime)
        seconds = (seconds or 0.0) + run.earlier
        if run.cluster and seconds:
            nodes = max(1, run.nodes)
            gpus = gpus_given(run.gpus // nodes, math.ceil(run.processes / nodes), prices.profile(run.cluster))
            entry = held.setdefault(run.cluster, [0.0, 0.0])
            entry[0] += run.nodes * seconds
            entry[1] += run.nodes * gpus * seconds
    made = [_use(name, node, gpu, prices, given) for name, (node, gpu) in held.items()]
    return tuple(sorted(made, key=lambda use: (-use.node_hours.used, use.cluster)))


def _use(cluster: str, node_seconds: float, gpu_seconds: float, prices: Prices, given: bool) -> Use:
    budget = prices.budget(cluster) if given else None
    used = spent(node_seconds, gpu_seconds, prices.rates(cluster))
    gpus = used.gpu_hours or (budget and budget.gpu_hours)
    return Use(
        line(cluster, 60),
        Amount(used.node_hours, budget.node_hours if budget else None),
        Amount(used.gpu_hours, budget.gpu_hours if budget else None) if gpus else None,
        None if used.tokens is None else Amount(used.tokens, budget.tokens if budget else None),
    )


def _together(uses: Iterable[Use]) -> tuple[Use, ...]:
    """Return the sums over teams by cluster."""
    found: dict[str, list[Use]] = {}
    for use in uses:
        found.setdefault(use.cluster, []).append(use)
    return tuple(
        Use(
            cluster,
            _sum([use.node_hours for use in each]) or Amount(0.0),
            _sum([use.gpu_hours for use in each if use.gpu_hours]),
            _sum([use.tokens for use in each if use.tokens]),
        )
        for cluster, each in found.items()
    )


def _sum(amounts: Sequence[Amount]) -> Amount | None:
    if not amounts:
        return None
    budgets = [amount.budget for amount in amounts if amount.budget is not None]
    return Amount(sum(amount.used for amount in amounts), sum(budgets) if budgets else None)
