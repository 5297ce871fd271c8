"""The page of scaling results: all teams in one picture and one table, with published results."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.scaling.plot import PANELS, filled, panel
from hackathon.scaling.show import MODE_NAMES, number, percent
from hackathon.scaling.table import TARGET
from hackathon.text.messages import N_, _
from hackathon.text.paths import shipped
from hackathon.web.page.addresses import Options, option
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.views.overview import MODES, SHAPES, Overview, ReachedPoint, overview
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

HEIGHT = 360
SIZE = {"width": 480, "height": HEIGHT, "autosize": {"type": "fit", "contains": "padding"}}
"""The size of one picture; the labels of its two lines are on the right."""
PADDING = {"left": 2, "right": 44, "top": 6, "bottom": 2}


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


def overview_figures(view: Overview, *, legend: bool = False) -> list[Figure]:
    """Return the pictures of speed-up and of efficiency over processes, both log2, not drawn yet.

    `legend`: with the teams' names below the curves, for a picture without a key beside it. Weak and strong scaling
    have pictures of their own, because their efficiencies do not compare.
    """
    template = shipped("templates", "plots", "overview.vl.json")
    figures = []
    for mode in MODES:
        part = replace(view, results=tuple(result for result in view.results if result.mode == mode))
        for name in PANELS if part.drawn else ():
            fills = _fills(part, name)
            figure = _figure(part, filled(template, fills, _datasets(part, fills, name)), name, mode)
            figures.append(replace(figure, spec=_with_legend(figure.spec, part)) if legend else figure)
    return figures


def _fills(view: Overview, name: str) -> dict[str, Any]:
    marked = [result for result in view.drawn if result.mark]
    published = view.references.points if view.published else ()
    points = [point for result in view.drawn for point in result.points]
    sizes = [point.processes for point in points]
    sizes += [size for result in view.drawn for size in result.failed]
    sizes += [reference.processes for reference in published]
    speedups = [
        point.speedup * end * result.base for result in view.drawn for point in result.points for end in _ends(point)
        if end > 0
    ]  # fmt: skip
    speedups += [reference.efficiency * reference.processes for reference in published]
    low, high = min(sizes), max(*sizes, 2 * min(sizes))
    bottom, top = min(*speedups, low * TARGET), max(*speedups, high)
    efficiencies = [point.efficiency * end for point in points for end in _ends(point)]
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


def _ends(point: ReachedPoint) -> tuple[float, ...]:
    """Return a point and the ends of its bar as shares of its value."""
    return (1.0,) if point.deviation is None else (1.0, 1.0 - point.deviation, 1.0 + point.deviation)


def _with_legend(spec: Mapping[str, Any], view: Overview) -> dict[str, Any]:
    """Return a specification with a legend that names the team of each colour and shape."""
    teams = [result.team for result in view.drawn if result.mark]
    legend = {
        "title": None, "orient": "bottom", "direction": "horizontal", "columns": 3, "labelLimit": 150,
        "labelExpr": f"{json.dumps(teams)}[datum.value]",
    }  # fmt: skip
    layers = [
        {**layer, "encoding": {
            name: {**channel, "legend": legend} if name in ("color", "shape") else channel
            for name, channel in layer["encoding"].items()
        }}
        for layer in spec["layer"]
    ]  # fmt: skip
    return {**spec, "layer": layers, "height": HEIGHT + 24 * math.ceil(len(teams) / 3)}


def _powers(low: float, high: float) -> list[float]:
    """Return the powers of two within two limits, every second one if there are many."""
    steps = range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)
    return [2.0**step for step in steps if len(steps) <= 10 or step % 2 == 0]


def _datasets(view: Overview, fills: Mapping[str, Any], name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the data of one of the two pictures, and nothing that only the other needs."""
    points: list[dict[str, Any]] = []
    bars: list[dict[str, Any]] = []
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
        for reached in result.points:
            # All lines begin on the ideal one, for any process count at which a study began.
            value = reached.speedup * result.base if name == "speedup" else reached.efficiency
            point = {"processes": reached.processes, name: _short(value)}
            # a line never leads from one machine to another
            machine = {"machine": reached.machine} if len(result.clusters) > 1 else {}
            if not result.mark:
                unmarked.append({**point, "team": result.team, **machine})
                continue
            told = _told(name, reached.speedup, reached.efficiency, reached.deviation)
            points.append({**point, "order": order, "name": result.team, "told": told, **machine})
            if reached.deviation is not None:
                # on a logarithmic axis, a bar that reaches zero ends below the axis
                bottom = max(value * (1 - reached.deviation), low / 2 if name == "speedup" else 0.0)
                bars.append({"processes": reached.processes, "low": _short(bottom),
                             "high": _short(value * (1 + reached.deviation)), "order": order})  # fmt: skip
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
        "points": points, "bars": bars, "failed": failed, "others": unmarked, "marks": marks, "ranges": ranges,
        "names": names, "range_names": range_names, "lines": lines, "ends": lines[1:],
    }  # fmt: skip


def _told(name: str, speedup: float, efficiency: float, deviation: float | None = None) -> str:
    value = _value(name, speedup, efficiency, deviation)
    return f"{value} ×" if name == "speedup" else value


def _value(name: str, speedup: float, efficiency: float, deviation: float | None) -> str:
    """Return a value with its standard deviation, if that is known."""
    if name == "speedup":
        return number(speedup, 3) + ("" if deviation is None else f" ± {number(deviation * speedup, 2)}")
    return percent(efficiency) if deviation is None else f"{100 * efficiency:.1f} ± {percent(deviation * efficiency)}"


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _figure(view: Overview, spec: dict[str, Any], name: str, mode: str) -> Figure:
    best = view.drawn[0]
    kind = f" · {_(MODE_NAMES[mode])}" if mode else ""
    chart = {**panel(spec, name), "background": None, "padding": PADDING, **SIZE}
    return Figure(
        name="-".join(filter(None, ("all", mode, name))),
        title=f"{_(PLOT_TEXTS[name])}{kind}",
        alt=(f"{_(MODE_NAMES[mode])}: " if mode else "") + _(
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
        for point in result.points:
            yield (
                result.team, str(point.processes), _value(name, point.speedup, point.efficiency, point.deviation)
            )  # fmt: skip
        for size in result.failed:
            yield result.team, str(size), f"× {_('failed')}"
    for reference in view.references.points if view.published else ():
        yield reference.name, str(reference.processes), reference.speedups if name == "speedup" else reference.share
