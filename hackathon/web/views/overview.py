"""The results of all teams that the overview compares: the main study of each, with its colour and shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import MainStudy, TeamOutcome, outcomes
from hackathon.index.studies import results_of
from hackathon.runs.states import OPEN
from hackathon.scaling.doubts import believed
from hackathon.scaling.table import SUCCEEDED
from hackathon.web.page.references import References, read_references
from hackathon.web.page.sanitize import line

COLOURS = ("#0b5cad", "#f5197a", "#008c70", "#b08206", "#3b1d8a", "#3e94f3", "#6b1a0a", "#1a1a1a")
"""One colour per team, distinguishable with red-green colour blindness, with a contrast of at least 3 : 1 on white.

The style sheet has their counterparts for dark pages.
"""
SHAPES = {
    "circle": "M4,0A4,4,0,1,1,-4,0A4,4,0,1,1,4,0Z",
    "square": "M-3.6,-3.6h7.2v7.2h-7.2Z",
    "triangle-up": "M0,-4.2L4.4,3.4H-4.4Z",
    "diamond": "M0,-5L4,0L0,5L-4,0Z",
    "triangle-down": "M0,4.2L4.4,-3.4H-4.4Z",
    "cross": "M-1.6,-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3Z",
    "triangle-right": "M4.2,0L-3.4,4.4V-4.4Z",
    "triangle-left": "M-4.2,0L3.4,4.4V-4.4Z",
}
"""Vega's name of a mark → the same as a path for the key, 10 units wide."""
MODES = ("weak", "strong", "")
"""The kinds of scaling in the order of their pictures; of a study without a known kind, the last one."""
SHOWN = 24
"""Teams with their own colour and mark, the fastest; the lines of the others are thin."""


@dataclass(frozen=True)
class Mark:
    """A team's colour and shape in the picture."""

    colour: str
    shape: str
    """A path around 0,0, 10 units wide."""


@dataclass(frozen=True)
class ReachedPoint:
    """One size of a study."""

    processes: int
    speedup: float
    efficiency: float
    deviation: float | None
    """The standard deviation over the repeats as a share of the value; None without repeats."""
    machine: str
    """The cluster of its runs; several are joined by commas."""


@dataclass(frozen=True)
class ReachedRow:
    """The result of one study: a row of the table."""

    team: str
    """The team's display name."""
    team_key: str
    """The key of the team's page."""
    study: str
    """The key of the study's page."""
    name: str
    mode: str
    """`weak`, `strong` or empty."""
    clusters: tuple[str, ...]
    base: int
    processes: int
    speedup: float
    efficiency: float
    value: float | None
    unit: str
    good: int
    """Number of successful runs."""
    total: int
    points: tuple[ReachedPoint, ...]
    """By size."""
    failed: tuple[int, ...] = ()
    """Sizes without a successful run, ascending."""
    doubted: str = ""
    """The mark of the doubts about the best point; empty without doubts."""
    further: int = 0
    """Number of the team's other studies with a speed-up."""
    mark: Mark | None = None
    """None: its line is thin."""


@dataclass(frozen=True)
class Overview:
    """The page of scaling results."""

    results: tuple[ReachedRow, ...]
    """The main study of each team, the fastest first."""
    references: References
    waiting: tuple[str, ...]
    """Teams without a speed-up yet."""
    apart: tuple[ReachedRow, ...]
    """The main studies of teams that measured only on laptops; they are not comparable and in no picture."""
    other_bases: bool
    """Whether a study began with more than one process."""
    thin: int
    """Teams that are drawn without a colour of their own."""
    hidden: frozenset[str] = frozenset()
    """Keys of teams that the reader removed from the pictures."""
    published: bool = True
    """Whether the pictures contain published results; without them, the axes end with the teams' own results."""

    @property
    def drawn(self) -> tuple[ReachedRow, ...]:
        """The results in the pictures."""
        return tuple(result for result in self.results if result.team_key not in self.hidden)

    @property
    def machines(self) -> bool:
        """Whether the results are of several machines, so that the key names them."""
        return len({cluster for result in self.results for cluster in result.clusters}) > 1

    @property
    def repeated(self) -> bool:
        """Whether any point in the pictures has repeats, and so a bar."""
        return any(point.deviation is not None for result in self.drawn if result.mark for point in result.points)


def overview(source: Catalog, reached: Sequence[TeamOutcome] | None = None) -> Overview:
    """Return the results of all teams. Of files only `study.json` and the references are read."""
    reached = outcomes(source) if reached is None else reached
    rows = [(outcome.main, _result(outcome, outcome.main)) for outcome in reached if outcome.main is not None]
    rows.sort(key=lambda pair: (-pair[1].speedup, pair[1].team))
    results = [row for main, row in rows if main.compared]
    return Overview(
        results=tuple(_marked(row, order) for order, row in enumerate(results)),
        references=read_references(source.event_folder),
        waiting=tuple(line(outcome.team.name, 100) for outcome in reached if outcome.main is None),
        apart=tuple(row for main, row in rows if not main.compared),
        other_bases=any(row.base != 1 for row in results),
        thin=max(0, len(results) - SHOWN),
    )


def _result(outcome: TeamOutcome, main: MainStudy) -> ReachedRow:
    """Return the result of a team's main study."""
    study = main.series
    results = results_of(study)
    points = believed(results["points"])
    by_size = {point["processes"]: point for point in points}
    machines = {run.id: line(run.cluster, 60) for run in study.runs}
    return ReachedRow(
        team=line(outcome.team.name, 100),
        team_key=outcome.team.name,
        study=study.key,
        name=line(study.name, 100),
        mode=results["mode"] if results["mode"] in MODES else "",
        clusters=tuple(line(cluster, 60) for cluster in main.clusters),
        base=results["base_processes"],
        processes=main.processes,
        speedup=main.speedup,
        efficiency=main.efficiency,
        value=by_size[main.processes]["value"],
        unit=line(results["unit"] or results["metric"], 40),
        good=sum(run.state == SUCCEEDED for run in study.runs),
        total=len(study.runs),
        points=tuple(_point(point, machines) for point in points),
        failed=tuple(point["processes"] for point in results["points"] if _is_failed(point)),
        doubted=main.doubted,
        further=outcome.further,
    )


def _point(point: Mapping[str, Any], machines: Mapping[str, str]) -> ReachedPoint:
    deviation = point["spread"]["stdev"]
    good = {machines.get(run["id"], "") for run in point["runs"] if run["status"] == SUCCEEDED}
    return ReachedPoint(
        point["processes"], point["speedup"], point["efficiency"],
        deviation / point["value"] if deviation is not None else None, ", ".join(sorted(good)),
    )  # fmt: skip


def _is_failed(point: Mapping[str, Any]) -> bool:
    """Return whether a point was tried and no run of it succeeded; a waiting or running point has not failed."""
    states = {run["status"] for run in point["runs"]}
    return bool(states) and point["value"] is None and not states & {SUCCEEDED, *OPEN}


def _marked(result: ReachedRow, order: int) -> ReachedRow:
    mark = None
    if order < SHOWN:
        shapes = list(SHAPES.values())
        mark = Mark(COLOURS[order % len(COLOURS)], shapes[_shape(order)])
    return replace(result, mark=mark)


def _shape(order: int) -> int:
    # The ninth team has the colour of the first, and another mark.
    return (order + order // len(COLOURS)) % len(SHAPES)
