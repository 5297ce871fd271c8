"""The page of scaling results: all teams in one picture and one table, with published results."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.outcomes import MainStudy, TeamOutcome, outcomes
from hackathon.index.studies import results_of
from hackathon.runs.states import OPEN
from hackathon.scaling.doubts import believed
from hackathon.scaling.plot import PANELS, filled, panel
from hackathon.scaling.show import number, percent
from hackathon.scaling.table import SUCCEEDED, TARGET
from hackathon.text.messages import N_, _
from hackathon.text.paths import shipped
from hackathon.web.page.addresses import Options, option
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.page.references import References, read_references
from hackathon.web.page.sanitize import line
from hackathon.web.views.study import PLOT_TEXTS

_ALT_TEXTS = {
    "speedup": N_(
        "Speed-up over processes on logarithmic axes for {count} teams, with the ideal line, the target line and "
        "published results. The largest is {team}: {speedup} × on {processes} processes. The data follow as a "
        "table."
    ),
    "efficiency": N_(
        "Parallel efficiency over processes for {count} teams, with the ideal line, the target line and published "
        "results. {team} has the largest speed-up, with {efficiency} on {processes} processes. The data follow as "
        "a table."
    ),
}

SIZE = {"width": 480, "height": 360, "autosize": {"type": "fit", "contains": "padding"}}
"""The size of one picture; the labels of its two lines are on the right."""
PADDING = {"left": 2, "right": 44, "top": 6, "bottom": 2}
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
SHOWN = 24
"""Teams with their own colour and mark, the fastest; the lines of the others are thin."""


@dataclass(frozen=True)
class Mark:
    """A team's colour and shape in the picture."""

    colour: str
    shape: str
    """A path around 0,0, 10 units wide."""


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
    points: tuple[tuple[int, float, float], ...]
    """(processes, speed-up, efficiency), by size."""
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


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return the values of the page of scaling results, pictures drawn.

    Options: `team`, once for each team in the pictures (none: all); `references` = `off`.
    """
    view = overview(source)
    teams = {value for name, value in options if name == "team"} & {result.team_key for result in view.results}
    hidden = frozenset(result.team_key for result in view.results if teams and result.team_key not in teams)
    view = replace(view, hidden=hidden, published=option(options, "references") != "off")
    figures, problem = drawn(overview_figures(view), source.memory) if view.results else ([], "")
    return {"view": view, "figures": figures, "problem": problem}


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
    return ReachedRow(
        team=line(outcome.team.name, 100),
        team_key=outcome.team.name,
        study=study.key,
        name=line(study.name, 100),
        mode=results["mode"],
        clusters=tuple(line(cluster, 60) for cluster in main.clusters),
        base=results["base_processes"],
        processes=main.processes,
        speedup=main.speedup,
        efficiency=main.efficiency,
        value=by_size[main.processes]["value"],
        unit=line(results["unit"] or results["metric"], 40),
        good=sum(run.state == SUCCEEDED for run in study.runs),
        total=len(study.runs),
        points=tuple((point["processes"], point["speedup"], point["efficiency"]) for point in points),
        failed=tuple(point["processes"] for point in results["points"] if _is_failed(point)),
        doubted=main.doubted,
        further=outcome.further,
    )


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


def overview_figures(view: Overview) -> list[Figure]:
    """Return the pictures of speed-up and of efficiency over processes, both log2, not drawn yet."""
    template = shipped("templates", "plots", "overview.vl.json")
    figures = []
    for name in PANELS:
        fills = _fills(view, name)
        figures.append(_figure(view, filled(template, fills, _datasets(view, fills, name)), name))
    return figures


def _fills(view: Overview, name: str) -> dict[str, Any]:
    marked = [result for result in view.drawn if result.mark]
    published = view.references.points if view.published else ()
    sizes = [size for result in view.drawn for size, _, _ in result.points]
    sizes += [size for result in view.drawn for size in result.failed]
    sizes += [reference.processes for reference in published]
    speedups = [speedup * result.base for result in view.drawn for _, speedup, _ in result.points]
    speedups += [reference.efficiency * reference.processes for reference in published]
    low, high = min(sizes), max(*sizes, 2 * min(sizes))
    bottom, top = min(*speedups, low * TARGET), max(*speedups, high)
    efficiencies = [efficiency for result in view.drawn for _, _, efficiency in result.points]
    names = {path: name for name, path in SHAPES.items()}
    order = list(range(len(marked)))
    return {
        "x_domain": [_short(low / 2**0.15), _short(high * 2**0.2)],
        "x_ticks": _powers(low, high),
        "y_domain": [_short(bottom / 2**0.15), _short(top * 2**0.25)],
        "y_ticks": _powers(bottom, top),
        "efficiency_domain": [0, min(2.0, max(1.08, 1.05 * max(efficiencies)))],
        "target_name": view.references.target_name,
        "colours": {"domain": order, "range": [result.mark.colour for result in marked if result.mark]},
        "shapes": {"domain": order, "range": [names[result.mark.shape] for result in marked if result.mark]},
        "tooltip": [
            {"field": "name", "type": "nominal", "title": _("Team")},
            {"field": "processes", "type": "quantitative", "title": _("Processes")},
            {"field": "told", "type": "nominal", "title": _(PLOT_TEXTS[name])},
        ],
    }  # fmt: skip


def _powers(low: float, high: float) -> list[float]:
    """Return the powers of two within two limits, every second one if there are many."""
    steps = range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)
    return [2.0**step for step in steps if len(steps) <= 10 or step % 2 == 0]


def _datasets(view: Overview, fills: Mapping[str, Any], name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the data of one of the two pictures, and nothing that only the other needs."""
    points: list[dict[str, Any]] = []
    unmarked: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    low = fills["y_domain"][0]
    at: dict[int, int] = {}
    for order, result in enumerate(view.drawn):
        for size in result.failed if result.mark else ():
            # above the axis, those of several teams on top of each other
            above = at[size] = at.get(size, 0) + 1
            height = low * 1.16**above if name == "speedup" else fills["efficiency_domain"][1] * 0.045 * above
            row = {"processes": size, name: _short(height), "name": result.team, "told": _("failed")}
            failed.append({**row, "order": order})
        for size, speedup, efficiency in result.points:
            # All lines begin on the ideal one, for any process count at which a study began.
            value = speedup * result.base if name == "speedup" else efficiency
            point = {"processes": size, name: _short(value)}
            if result.mark:
                points.append({**point, "order": order, "name": result.team, "told": _told(name, speedup, efficiency)})
            else:
                unmarked.append({**point, "team": result.team})
    marks: list[dict[str, Any]] = []
    ranges: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    range_names: list[dict[str, Any]] = []
    for reference in view.references.points if view.published else ():
        scale = reference.processes if name == "speedup" else 1
        point = {"processes": reference.processes, name: _short(reference.efficiency * scale)}
        single = reference.low == reference.high
        if single:
            marks.append(
                {**point, "name": reference.name, "told": _told(name, reference.speedup, reference.efficiency)}
            )
        else:
            ranges.append(
                {"processes": reference.processes, "low": reference.low * scale, "high": reference.high * scale}
            )
        if reference.label:
            (names if single else range_names).append({**point, "label": reference.label})
    target = view.references.target
    lines = [
        {"processes": x, "ideal": x, "target": _short(target * x)}
        if name == "speedup" else {"processes": x, "ideal": 1, "target": target}
        for x in fills["x_domain"]
    ]  # fmt: skip
    return {
        "points": points, "failed": failed, "others": unmarked, "marks": marks, "ranges": ranges, "names": names,
        "range_names": range_names, "lines": lines, "ends": lines[1:],
    }  # fmt: skip


def _told(name: str, speedup: float, efficiency: float) -> str:
    return f"{number(speedup, 3)} ×" if name == "speedup" else percent(efficiency)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _figure(view: Overview, spec: dict[str, Any], name: str) -> Figure:
    best = view.drawn[0]
    chart = {**panel(spec, name), "background": None, "padding": PADDING, **SIZE}
    return Figure(
        name=f"all-{name}",
        title=_(PLOT_TEXTS[name]),
        alt=_(
            _ALT_TEXTS[name], count=len(view.drawn), team=best.team, processes=best.processes,
            speedup=number(best.speedup, 3), efficiency=percent(best.efficiency),
        ),
        spec=chart,
        columns=(
            _("Team"), _("Processes"), _(PLOT_TEXTS[name]),
        ),
        rows=tuple(_rows(view, name)),
    )  # fmt: skip


def _rows(view: Overview, name: str) -> Iterable[tuple[str, ...]]:
    for result in view.drawn:
        for size, speedup, efficiency in result.points:
            yield result.team, str(size), number(speedup, 3) if name == "speedup" else percent(efficiency)
        for size in result.failed:
            yield result.team, str(size), f"× {_('failed')}"
    for reference in view.references.points if view.published else ():
        yield reference.name, str(reference.processes), reference.speedups if name == "speedup" else reference.share
