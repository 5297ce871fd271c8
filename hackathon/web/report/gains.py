"""The outcome of advice, for the report: the expected gain, the change, and the measured gain."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.index.record import RunEntry
from hackathon.index.studies import TeamRuns
from hackathon.profiling.advice import advice
from hackathon.profiling.gains import GainEvidence, expected_of, name_of
from hackathon.profiling.outcomes import VERDICT_TEXTS, AdviceOutcome
from hackathon.profiling.switches import names_of
from hackathon.runs.directory import RunDirectory
from hackathon.runs.record import RunRecord
from hackathon.scaling.compare import Result, compare
from hackathon.scaling.evidence import LENGTH, changes
from hackathon.scaling.table import SUCCEEDED
from hackathon.text.messages import _
from hackathon.web.page.sanitize import line

ROWS = 5
"""Pieces of advice per team in a report."""
RUNS = 200
"""Newest runs of a team that are read."""


@dataclass(frozen=True)
class AdviceRow:
    """A piece of advice to a team, and its outcome."""

    team: str
    advice: str
    processes: int
    changed: str
    """`workers: 0 → 4`; empty if it was not tried."""
    expected: str
    measured: str
    verdict: str
    """`came-true`, `not`, `noise`, `unknown` or `untried`."""
    gain: float
    """The measured gain if it came true, else the expected one; rows are sorted by it."""

    @property
    def verdict_text(self) -> str:
        """The verdict in words."""
        return _(VERDICT_TEXTS[self.verdict])


@dataclass(frozen=True)
class _Point:
    """Runs of one program with equal parameters and process counts."""

    record: RunRecord
    runs: tuple[RunEntry, ...]

    @property
    def results(self) -> list[Result]:
        """Their results for a comparison."""
        return [
            Result(run.id, run.processes, run.state, run.metric, run.unit,
                   {run.metric: run.value} if run.value is not None else {}, shares=run.shares)
            for run in self.runs
        ]  # fmt: skip


def advice_rows(team: TeamRuns) -> list[AdviceRow]:
    """Return the outcomes of the advice in a team's runs: advice that came true first, then untried advice.

    For each piece of advice and process count, the first later measurement counts that differs only in parameters of
    the advice.
    """
    points = _points(team)
    rows: dict[tuple[str, str, int, str], AdviceRow] = {}
    for number, point in enumerate(points):
        shares = [run.shares for run in point.runs if run.shares is not None]
        for suggestion in advice(shares):
            row = _tried(team.name, suggestion.id, point, points[number + 1 :])
            if row is None:
                gain = expected_of(suggestion, (), GainEvidence())
                row = AdviceRow(line(team.name, 100), name_of(suggestion.id, {}), point.record.processes, "", gain.text,
                                "–", "untried", gain.gain)  # fmt: skip
            key = (point.record.name, suggestion.id, point.record.processes, point.record.cluster)
            before = rows.get(key)
            if before is None or _rank(row) < _rank(before):
                rows[key] = row
    return sorted(rows.values(), key=_rank)[:ROWS]


def _rank(row: AdviceRow) -> tuple[int, float]:
    return ("came-true", "not", "noise", "unknown", "untried").index(row.verdict), -row.gain


def _tried(team: str, identifier: str, point: _Point, later: Sequence[_Point]) -> AdviceRow | None:
    for other in later:
        outcome = _outcome(identifier, point, other)
        if outcome is not None:
            gain = outcome.measured.gain if outcome.measured is not None else outcome.expected.gain
            return AdviceRow(
                line(team, 100), outcome.name, point.record.processes, line(outcome.changed_text, 200),
                outcome.expected.text, outcome.measured_text, outcome.verdict, gain,
            )  # fmt: skip
    return None


def _outcome(identifier: str, point: _Point, other: _Point) -> AdviceOutcome | None:
    """Return the outcome of advice between two points; None if other parameters differ, too."""
    same = ("name", "recipe", "cluster", "processes", "nodes")
    if any(getattr(point.record, name) != getattr(other.record, name) for name in same):
        return None
    differs = changes(point.record, other.record)
    if not differs or not {change.name for change in differs} <= names_of(identifier):
        return None
    compared = compare(point.results, other.results, changes=lambda first, second: differs)
    return next((outcome for comparison in compared for outcome in comparison.tried if outcome.id == identifier), None)


def _points(team: TeamRuns) -> list[_Point]:
    """Return a team's measured points, earliest first."""
    good = [run for run in team.work if run.state == SUCCEEDED and run.shares is not None and not run.is_false]
    groups: dict[str, list[tuple[RunRecord, RunEntry]]] = {}
    for run in sorted(good, key=lambda run: run.id)[-RUNS:]:
        record = RunDirectory(Path(run.project) / "runs" / run.id).known()
        if not record.readable:
            continue
        settings = {name: value for name, value in record.parameters.items() if name not in LENGTH}
        key = [run.project, record.name, record.cluster, record.processes, record.nodes, settings]
        groups.setdefault(json.dumps(key, sort_keys=True, default=str), []).append((record, run))
    return [_Point(group[0][0], tuple(run for _, run in group)) for group in groups.values()]
