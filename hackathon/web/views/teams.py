"""The page of all teams: the states of their runs, results, last failure, and use."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import EventCount, MainStudy, TeamOutcome, count, foremost, of_event, outcomes
from hackathon.index.published import laptops
from hackathon.index.record import RunEntry
from hackathon.index.studies import TeamRuns, run_key
from hackathon.text.messages import language, localized
from hackathon.text.units import format_age
from hackathon.usage.lost import Hours, hours_of
from hackathon.usage.lost_tables import lost_notes, lost_table
from hackathon.usage.usage import Amount, Ledger, Sum
from hackathon.web.page.sanitize import line

OPEN = ("RUNNING", "ENDING", "QUEUED", "HELD", "UNCERTAIN")
"""States of runs that the scheduler has, or may have, in the order of display."""


@dataclass(frozen=True)
class Use:
    """The use of one cluster; unfinished runs count until now."""

    cluster: str
    node_hours: Amount
    gpu_hours: Amount | None = None
    """None if no run had a GPU and there is no budget for GPUs."""
    tokens: Amount | None = None
    """None if the cluster's profile has no rate and there is no budget of tokens."""

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """All amounts, the displayed one first: one with a budget, else GPU-hours before node-hours."""
        amounts = [amount for amount in (self.gpu_hours, self.node_hours, self.tokens) if amount is not None]
        return tuple(sorted(amounts, key=lambda amount: amount.budget is None))


@dataclass(frozen=True)
class TeamFailure:
    """The newest diagnosed failure."""

    part: str
    message: str
    run: str
    """The key of the run's page."""
    when: float | None = None


@dataclass(frozen=True)
class TeamRow:
    """One team as a row of the table."""

    name: str
    """The key of its page, unmodified."""
    shown: str = ""
    """The display name."""
    title: str = ""
    runs: int = 0
    """Runs that count, by the rules of `hackathon.index.outcomes`."""
    succeeded: int = 0
    failed: int = 0
    apart: int = 0
    """Runs on laptops, which are in no sum."""
    open: tuple[tuple[str, int], ...] = ()
    """(state, count) of runs that the scheduler has."""
    best: MainStudy | None = None
    """The best point of its main study."""
    others: tuple[MainStudy, ...] = ()
    """The main studies of its other projects."""
    gpu_percent: float | None = None
    """Mean over the GPUs of unfinished runs; without them that of the newest run with a value."""
    trouble: TeamFailure | None = None
    use: tuple[Use, ...] = ()
    """By cluster, the largest use first."""
    last: float | None = None
    """Time of its last activity."""
    quiet: str = ""
    """Time since then: `4 min`; empty without any activity."""


@dataclass(frozen=True)
class TeamsView:
    """The table of all teams, and sums over it."""

    rows: tuple[TeamRow, ...]
    use: tuple[Use, ...]
    """The use by the event's teams together, by cluster, with the sum of their budgets.

    Outside an event by all projects.
    """
    best: MainStudy | None
    """The largest speed-up of the main studies on the event's machines, if possible one without doubts."""
    best_team: str
    count: EventCount
    live: bool
    lost: tuple[Hours, ...] = ()
    """The outcome of the hours of each team."""

    @property
    def lost_table(self) -> tuple[list[str], list[list[str]]]:
        """The same as head and rows of texts."""
        return lost_table(self.lost)

    @property
    def lost_notes(self) -> list[str]:
        """The meaning of the table's words, and the numbers of runs without records."""
        return lost_notes(self.lost)

    @property
    def running(self) -> int:
        """Number of unfinished runs."""
        return sum(count for row in self.rows for state, count in row.open if state in ("RUNNING", "ENDING"))


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of the page of all teams."""
    if key:
        return None
    return {"view": teams_view(source, outcomes(source))}


def teams_view(source: Catalog, reached: Sequence[TeamOutcome]) -> TeamsView:
    """Return the table of all teams with the given outcomes."""
    ledger, away = Ledger(source), laptops(source)
    rows = {outcome.team.name: team_row(outcome, source, ledger) for outcome in reached}
    summed = [rows[outcome.team.name] for outcome in of_event(reached)]
    best = foremost(reached)
    return TeamsView(
        rows=tuple(rows.values()),
        use=_together([use for row in summed for use in row.use if use.cluster not in away]),
        best=best.main if best else None,
        best_team=rows[best.team.name].shown if best else "",
        count=count(reached),
        live=source.live,
        lost=_lost(summed, reached, ledger, away),
    )


def _lost(
    rows: Sequence[TeamRow], reached: Sequence[TeamOutcome], ledger: Ledger, away: Collection[str]
) -> tuple[Hours, ...]:
    """Return the outcome of the hours of the teams with these rows, without laptops."""
    names = {row.name for row in rows}
    runs = [run for outcome in reached for run in (*outcome.team.runs, *outcome.team.unseen)]
    hours = hours_of(ledger.of(runs))
    return tuple(entry for entry in hours if entry.team in names and entry.cluster not in away)


def team_row(outcome: TeamOutcome, source: Catalog, ledger: Ledger) -> TeamRow:
    """Return a team's row, from the index only."""
    team = outcome.team
    states = Counter(run.state for run in team.runs)
    last = last_activity(team.runs)
    return TeamRow(
        name=team.name,
        shown=line(team.name, 100),
        title=line(localized(team.title), 300),
        runs=outcome.runs,
        succeeded=outcome.succeeded,
        failed=outcome.failed,
        apart=outcome.apart,
        open=tuple((state, states[state]) for state in OPEN if states[state]),
        best=outcome.main,
        others=outcome.others,
        gpu_percent=gpu_percent(team.runs),
        trouble=newest_trouble(team.runs),
        use=used(team, ledger),
        last=last,
        quiet="" if last is None else format_age(max(0.0, source.now - last)),
    )


def gpu_percent(runs: Sequence[RunEntry]) -> float | None:
    """Return the mean utilisation over the GPUs of unfinished runs, else that of the newest run with a value, 0…100."""
    measured = [run for run in runs if run.gpu_percent is not None]
    going = [run for run in measured if run.state in ("RUNNING", "ENDING")]
    if not going:
        return measured[0].gpu_percent if measured else None
    weights = [max(1, run.gpus) for run in going]
    return sum((run.gpu_percent or 0.0) * weight for run, weight in zip(going, weights, strict=True)) / sum(weights)


def newest_trouble(runs: Iterable[RunEntry]) -> TeamFailure | None:
    """Return the cause of the newest diagnosed failure in the current language."""
    for run in runs:
        if run.part:
            words = run.told_in(language())
            text = line(words.message, 500) if words else ""
            return TeamFailure(line(run.part, 60), text, run_key(run), run.ended or run.progress)
    return None


def last_activity(runs: Iterable[RunEntry]) -> float | None:
    """Return the last time at which one of the runs was created, started, ended or wrote output."""
    moments = (run.progress or run.ended or run.started or run.submitted or run.created for run in runs)
    return max((moment for moment in moments if moment is not None), default=None)


def used(team: TeamRuns, ledger: Ledger) -> tuple[Use, ...]:
    """Return a team's use by cluster, the largest first; includes the budgets of a team without runs."""
    uses = [_use(entry) for entry in ledger.of((*team.runs, *team.unseen)).of_team(team.name)]
    return tuple(sorted(uses, key=lambda use: (-use.node_hours.used, use.cluster)))


def _use(entry: Sum) -> Use:
    amounts = {amount.kind: amount for amount in entry.amounts}
    return Use(line(entry.cluster, 60), amounts["node_hours"], amounts.get("gpu_hours"), amounts.get("tokens"))


def _together(uses: Iterable[Use]) -> tuple[Use, ...]:
    """Return the sums over teams by cluster."""
    groups: dict[str, list[Use]] = {}
    for use in uses:
        groups.setdefault(use.cluster, []).append(use)
    return tuple(
        Use(
            cluster,
            total([use.node_hours for use in group]) or Amount("node_hours", 0.0),
            total([use.gpu_hours for use in group]),
            total([use.tokens for use in group]),
        )
        for cluster, group in groups.items()
    )


def total(amounts: Iterable[Amount | None]) -> Amount | None:
    """Return the sum of amounts of one kind and of their budgets; None without amounts."""
    parts = [amount for amount in amounts if amount is not None]
    if not parts:
        return None
    budgets = [amount.budget for amount in parts if amount.budget is not None]
    return Amount(parts[0].kind, math.fsum(amount.used for amount in parts), sum(budgets) if budgets else None)
