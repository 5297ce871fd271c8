"""Compare several runs: each metric's curves in one picture, and all differences."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import run_key
from hackathon.runs.directory import files_of
from hackathon.scaling.plot import filled
from hackathon.scaling.show import number
from hackathon.text.messages import N_, _
from hackathon.text.paths import shipped
from hackathon.web.listing.runs import short_names
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.progress.run_curves import (
    CURVES,
    ChartWish,
    Points,
    RunCurves,
    axis_of,
    chosen,
    run_curves,
    smoothed,
    thinned,
    title_of,
    wish_of,
)
from hackathon.web.views.curves import POINTS, scale_of
from hackathon.web.views.diff import NONE, RunSide, Value
from hackathon.web.views.overview import COLOURS, SHAPES, Mark
from hackathon.web.views.study import RunRow, run_row

_DIGEST = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{16,}([0-9a-f]{8})\b")
MOST = len(COLOURS)
"""The most runs that are compared, one for each colour."""
ROWS = 12
"""Rows per run of the table beside a picture."""
SECONDS = ((N_("seconds since the start"), 1.0, 180.0), (N_("minutes since the start"), 60.0, 3 * 3600.0),
           (N_("hours since the start"), 3600.0, float("inf")))  # fmt: skip
"""(Axis, seconds of its unit, duration up to which it is used)."""


@dataclass(frozen=True)
class ComparedRun:
    row: RunRow
    team: str
    short: str
    mark: Mark
    drawn: bool
    """Whether its curves are in the pictures."""
    printed: bool
    """Whether its curves come from its printed output."""


@dataclass(frozen=True)
class ComparedRow:
    """One difference."""

    name: str
    values: tuple[str, ...]
    """One per run, – without a value."""
    best: int = -1
    """Index of the best number; -1 if it is not unique, or if it is not known whether more is better."""
    worst: int = -1
    """Index of the worst number, by the same rule."""


@dataclass(frozen=True)
class ComparedPart:
    """The differences of one kind."""

    name: str
    """`results`, `request`, `environment`, `source`."""
    rows: tuple[ComparedRow, ...]
    same: int
    """Number of equal values, which are not displayed."""


@dataclass(frozen=True)
class ComparePage:
    """The page of several runs."""

    runs: tuple[ComparedRun, ...]
    parts: tuple[ComparedPart, ...]
    figures: tuple[Figure, ...]
    wish: ChartWish
    asked: tuple[tuple[str, str], ...]
    """The options that name the runs."""
    unknown: tuple[str, ...] = ()
    """Parts of ids that match no run, or several."""
    left: int = 0
    """Selected runs beyond MOST."""


def values(source: Catalog, key: str = "", options: Options = ()) -> dict[str, Any] | None:
    """Return the template's values; without runs, a form to select some."""
    page = compare_page(source, options)
    figures, problem = drawn(page.figures, source.memory)
    return {"view": replace(page, figures=tuple(figures)), "problem": problem}


def compare_page(source: Catalog, options: Options = ()) -> ComparePage:
    """Return the page of the runs that the options name, figures not drawn; every text cleaned."""
    named = list(dict.fromkeys(value for name, value in options if name == "run"))
    matches: dict[str, RunEntry] = {}
    unknown = []
    for part in named:
        runs = source.named(part)
        if len(runs) == 1:
            matches.setdefault(run_key(runs[0]), runs[0])
        else:
            unknown.append(clean.line(part, 100))
    chosen_runs = list(matches.values())[:MOST]
    wish = wish_of(options)
    curves = [run_curves(files_of(f"{run.project}/runs/{run.id}"), run, wish, source.memory) for run in chosen_runs]
    x = most_common_axis(curves)
    shorts = short_names(source, chosen_runs)
    shapes = list(SHAPES.values())
    page = ComparePage(
        runs=tuple(
            ComparedRun(
                run_row(run),
                run.team,
                short,
                Mark(COLOURS[index], shapes[index]),
                bool(curve.lines) and curve.x == x,
                curve.printed and curve.x == x,
            )
            for index, (run, short, curve) in enumerate(zip(chosen_runs, shorts, curves, strict=True))
        ),
        parts=tuple(_parts([RunSide(run, source.memory) for run in chosen_runs])) if len(chosen_runs) > 1 else (),
        figures=(),
        wish=wish,
        asked=tuple(("run", short) for short in shorts),
        unknown=tuple(unknown),
        left=max(0, len(matches) - MOST),
    )
    cleaned: ComparePage = clean.value(page)
    return replace(cleaned, figures=tuple(compared_figures(chosen_runs, shorts, curves, wish)))


def _parts(sides: Sequence[RunSide]) -> list[ComparedPart]:
    parts = []
    for name in ("results", "request", "environment", "source"):
        tables: list[Mapping[str, Value]] = [getattr(side, name)() for side in sides]
        keys = dict.fromkeys(key for table in tables for key in table)
        rows, same = [], 0
        for key in keys:
            entries = [table.get(key, (NONE, None)) for table in tables]
            if len(set(entries)) == 1:
                same += 1
                continue
            texts = tuple(_DIGEST.sub(r"\1…\2", text) for text, _ in entries)
            amounts = [amount for _, amount in entries]
            directions = {side.more_is_better(key) for side in sides} if name == "results" else {None}
            more = directions.pop() if len(directions) == 1 else None
            best, worst = (-1, -1) if more is None else (_extreme(amounts, more), _extreme(amounts, not more))
            rows.append(ComparedRow(key, texts, best, worst))
        parts.append(ComparedPart(name, tuple(rows), same))
    return parts


def _extreme(numbers: Sequence[float | None], most: bool) -> int:
    """Return the index of the largest or the smallest number; -1 if it is not unique, or one is not a number."""
    amounts = [amount for amount in numbers if amount is not None and math.isfinite(amount)]
    if len(amounts) < 2:
        return -1
    end = max(amounts) if most else min(amounts)
    return numbers.index(end) if amounts.count(end) == 1 else -1


def most_common_axis(curves: Sequence[RunCurves]) -> str:
    """Return the common x axis of the pictures; empty without any curve.

    Curves over different quantities (steps in one run, the order of printed lines in another) cannot share a picture:
    the most frequent axis is used, the first one of a tie.
    """
    kinds = [curve.x for curve in curves if curve.lines]
    return max(dict.fromkeys(kinds), key=kinds.count, default="")


def compared_figures(
    runs: Sequence[RunEntry], names: Sequence[str], curves: Sequence[RunCurves], wish: ChartWish
) -> list[Figure]:
    """Return a picture of each metric with a line for each run; runs over time begin at 0."""
    x = most_common_axis(curves)
    if not x:
        return []
    by_metric: dict[str, list[tuple[int, Points]]] = {}
    for index, curve in enumerate(curves):
        for metric, points in curve.lines if curve.x == x else ():
            by_metric.setdefault(metric, []).append((index, _placed(points, runs[index], x)))
    metrics = chosen(by_metric, runs[0].metric) or list(by_metric)[:CURVES]
    length = max(point[0] for lines in by_metric.values() for _, points in lines for point in points)
    if x == "time":
        axis, seconds = next((axis, unit) for axis, unit, most in SECONDS if length < most)
    else:
        axis, seconds = axis_of(x), 1.0
    return [_figure(order, metric, by_metric[metric], runs, names, (axis, seconds, length / seconds), wish)
            for order, metric in enumerate(metrics)]  # fmt: skip


def _placed(points: Points, run: RunEntry, x: str) -> Points:
    if x != "time":
        return points
    first = min(when for when, _ in points)
    # the Meter's times are by the node's clock: if it is far from the server's, the first line is the beginning
    begin = run.started if run.started is not None and 0 <= first - run.started < 3600 else first
    return sorted((when - begin, value) for when, value in points)


def _figure(
    order: int, metric: str, lines: Sequence[tuple[int, Points]], runs: Sequence[RunEntry], names: Sequence[str],
    axis: tuple[str, float, float], wish: ChartWish,
) -> Figure:  # fmt: skip
    words, unit, length = axis
    drawn_lines = [(index, thinned(smoothed(points, wish.smooth), POINTS)) for index, points in lines]
    data = [
        {"x": when / unit, "y": value, "order": index, "name": names[index]}
        for index, points in drawn_lines
        for when, value in points
    ]
    measured = [float(point["y"]) for point in data]  # type: ignore[arg-type]
    begin = min(float(point["x"]) for point in data)  # type: ignore[arg-type]
    least, most = min(measured), max(measured)
    own = next((run.unit for run in runs if run.metric == metric), "")
    title = title_of(metric, own)
    indices = [index for index, _ in drawn_lines]
    spec = filled(
        shipped("templates", "plots", "compare.vl.json"),
        {
            "x_title": _(words),
            "x_domain": [begin, length if length > begin else begin + 1],
            "y_scale": scale_of(metric, least, most, log=wish.log),
            "y_format": "~s" if most >= 1000 else ".4~r",
            "colours": {"domain": indices, "range": [COLOURS[index] for index in indices]},
            "tooltip": [
                {"field": "name", "type": "nominal", "title": _("Run")},
                {"field": "x", "type": "quantitative", "title": _(words), "format": ",.4~r"},
                {"field": "y", "type": "quantitative", "title": title, "format": ",.4~r"},
            ],
        },
        {"points": data},
    )
    ends = ", ".join(f"{names[index]} {number(points[-1][1])}" for index, points in drawn_lines)
    rows = tuple(
        (names[index], number(when / unit, 3), number(value))
        for index, points in drawn_lines
        for when, value in thinned(points, ROWS)
    )
    columns = (_("Run"), _(words), title)
    return Figure(
        f"compare-{order}",
        title,
        _("{title} of several runs; last values: {ends}.", title=title, ends=ends),
        spec,
        columns,
        rows,
    )
