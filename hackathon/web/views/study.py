"""The page of a study: its result, curves, and runs; from the index, and the ends of its runs' metrics."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry, key_of, parts_of
from hackathon.index.studies import (
    StudyRuns,
    best_series,
    by_study,
    by_team,
    run_key,
    told_results,
)
from hackathon.jobs.settings import settings_text
from hackathon.prediction.results import with_predictions
from hackathon.scaling.doubts import believed, headline, merged
from hackathon.scaling.plot import PANELS, panel, plot_spec
from hackathon.scaling.show import doubt_mark, label, number, percent
from hackathon.scaling.table import SUCCEEDED, points_of, series_of
from hackathon.text.messages import N_, _, language
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.page.sanitize import line, value
from hackathon.web.views.shares import study_shares
from hackathon.web.views.tuning import tuning_view

PLOT_TEXTS = {
    "speedup": N_("Speed-up"),
    "efficiency": N_("Parallel efficiency"),
}

SIZE = {"width": 440, "height": 340, "autosize": {"type": "fit", "contains": "padding"}}
"""Both pictures of a page have this size for all labels, so that they are aligned side by side."""
QUIET = "#5b6675"
"""The colour of secondary marks, which the style sheet also defines."""
ALT = {
    "speedup": N_("Line chart of speed-up over processes: {points}. The table below holds the same numbers."),
    "efficiency": N_(
        "Line chart of parallel efficiency over processes: {points}. The table below holds the same numbers."
    ),
}


@dataclass(frozen=True)
class RunRow:
    """One run as a row of a table."""

    key: str
    """The key of its page."""
    id: str
    name: str
    processes: int
    nodes: int
    value: float | None
    unit: str
    state: str
    reason: str = ""
    """Why it ended so; empty if it succeeded."""
    note: str = ""
    tags: tuple[str, ...] = ()
    check_passed: bool | None = None
    gpu_percent: float | None = None
    created: float | None = None
    seconds: float | None = None
    settings: str = ""
    """Its settings in its study besides the process count."""
    whole: bool = True
    """Whether all sources of its numbers were read."""
    doubted: str = ""
    """The mark of the doubts about its value; empty without doubts."""
    study: str = ""
    """The key of its study's page; empty for a single run."""


@dataclass(frozen=True)
class StudyPage:
    key: str
    id: str
    name: str
    team: str
    """The key of its team's page."""
    shown_team: str
    results: dict[str, Any]
    """The results as `scaling.table.results` returns them."""
    runs: tuple[RunRow, ...]
    """By size, then by age."""
    created: float | None
    clusters: tuple[str, ...]
    again: RunRow | None
    """The run to repeat for this study: of its largest point with a successful one; None if none succeeded."""
    missing: int = 0
    """Number of points without a run."""

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The results of each series of settings."""
        return series_of(self.results)

    @property
    def foremost(self) -> dict[str, Any]:
        """The series whose largest point has the largest speed-up; the first series if none has one."""
        return max(self.parts, key=lambda part: (_last_good(part) or {"speedup": 0.0})["speedup"])

    @property
    def best(self) -> dict[str, Any] | None:
        """The largest point with a speed-up of the foremost series; None if there is none."""
        return headline(self.foremost["points"])


def _last_good(results: Mapping[str, Any]) -> dict[str, Any] | None:
    good = believed(results["points"])
    return good[-1] if good else None


def values(source: Catalog, key: str) -> dict[str, Any] | None:
    """Return the values of a study's page; None if no run of it is in the index."""
    project, identifier = parts_of(key)
    runs = [run for run in source.summaries if run.project == project and run.study in (identifier, "")]
    study = next((study for study in by_study(runs, source.memory) if study.id == identifier), None)
    if not identifier or study is None:
        return None
    names = {path: team.name for team in by_team(source) for path in team.projects}
    view = study_page(study, study.runs[0].team or names.get(Path(project), Path(project).name))
    tuning = tuning_view(study, source.memory)
    if tuning is not None:
        figures, problem = drawn(tuning.figures, source.memory)
        return {"view": view, "tuning": tuning, "shares": [], "figures": figures, "problem": problem}
    shares = study_shares(view.results)
    figures, problem = drawn([*shares, *study_figures(view.results)], source.memory)
    return {
        "view": view, "tuning": None, "shares": figures[: len(shares)], "figures": figures[len(shares) :],
        "problem": problem,
    }  # fmt: skip


def study_page(study: StudyRuns, team: str = "") -> StudyPage:
    """Return a study for a page; files that are missing or half-written leave gaps and raise no error."""
    order = {run.id: (settings_text(run.settings), run.processes) for run in study.runs}
    rows = sorted((run_row(run) for run in study.runs), key=lambda row: (order[row.id], row.created or 0.0, row.id))
    foremost = {run.id for run in best_series(study).runs}
    largest = [row for row in rows if row.state == SUCCEEDED and row.id in foremost]
    return StudyPage(
        key=study.key,
        id=study.id,
        name=line(study.name, 200),
        team=team,
        shown_team=line(team, 100),
        results=value(with_predictions(told_results(study))),
        runs=tuple(rows),
        created=study.created,
        clusters=tuple(sorted({line(run.cluster, 60) for run in study.runs if run.cluster})),
        again=largest[-1] if largest else None,
        missing=max(0, study.points - len(study.runs)),
    )


def _why(run: RunEntry) -> str:
    """Return why a run failed: its cause in the current language, else the recorded reason of its state."""
    diagnosis = run.told_in(language())
    return line(diagnosis.message if diagnosis else run.reason, 300)


def run_row(run: RunEntry) -> RunRow:
    """Return a run as one row of a table."""
    return RunRow(
        key=run_key(run),
        id=run.id,
        name=line(run.name, 100),
        processes=run.processes,
        nodes=run.nodes,
        value=run.value,
        unit=line(run.unit, 40),
        state=run.state,
        reason="" if run.state == SUCCEEDED else _why(run),
        note=line(run.note, 300),
        tags=tuple(line(tag, 60) for tag in run.tags),
        check_passed=run.check_passed,
        gpu_percent=run.gpu_percent,
        created=run.created,
        seconds=run.seconds,
        settings=line(settings_text(run.settings), 200),
        whole=run.whole,
        doubted=doubt_mark(merged(doubt.to_json() for doubt in run.doubts)),
        study=key_of(run.project, run.study) if run.study else "",
    )


def study_figures(results: Mapping[str, Any], *, others: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> list[Figure]:
    """Return speed-up and efficiency over processes, log2, with ideal, the 75 % line and repeats as points.

    `others`: (name, results) of studies from the same base, drawn in a muted style. Several series have a colour each.
    Empty if no point has a speed-up.
    """
    if not any(point["speedup"] is not None for point in points_of(results)):
        return []
    if len(series_of(results)) > 1:
        spec = plot_spec(results, title="")
        return [_series_figure(spec, results, name) for name in PANELS]
    points = [point for entry in (results, *(entry for _, entry in others)) for point in entry["points"]]
    # The axes have room for all studies, the points are those of this one.
    spec = plot_spec({**results, "points": points, "series": []}, title="")
    own = plot_spec(results, title="")["datasets"]
    spec["datasets"].update({name: own[name] for name in ("points", "repeats", "doubted", "failed")})
    spec["datasets"]["others"] = [
        {"study": name, **{key: point[key] for key in ("processes", *PANELS)}}
        for name, entry in others
        for point in entry["points"]
        if point["speedup"] is not None
    ]
    return [_figure(spec, results, others, name) for name in PANELS]


def _series_figure(spec: Mapping[str, Any], results: Mapping[str, Any], name: str) -> Figure:
    """Return one picture of several series, each with its own colour and column."""
    chart = copy.deepcopy({**panel(spec, name), "background": None, "padding": 2, **SIZE})
    chart.pop("title", None)
    _lighten(chart, name)
    series = series_of(results)
    columns = [
        {point["processes"]: _text(point, name) for point in entry["points"] if point[name] is not None}
        for entry in series
    ]
    names = [label(entry) for entry in series]
    sizes = sorted({size for column in columns for size in column})
    points = "; ".join(
        f"{title}: {', '.join(f'{size}: {text}' for size, text in column.items())}"
        for title, column in zip(names, columns, strict=True)
    )
    return Figure(
        name=name,
        title=_(PLOT_TEXTS[name]),
        alt=_(ALT[name], points=points),
        spec=chart,
        columns=(_("Processes"), *names),
        rows=tuple((str(size), *(column.get(size, "–") for column in columns)) for size in sizes),
    )


def _figure(
    spec: Mapping[str, Any],
    results: Mapping[str, Any],
    studies: Sequence[tuple[str, Mapping[str, Any]]],
    name: str,
) -> Figure:
    chart = copy.deepcopy({**panel(spec, name), "background": None, "padding": 2, **SIZE})
    chart.pop("title", None)
    axis = chart["encoding"]["x"]["axis"]
    axis["values"] = sorted(set(axis["values"]))
    if studies:
        quiet = {"encoding": {"y": {"field": name}, "detail": {"field": "study"}}, "data": {"name": "others"}}
        line_mark = {"type": "line", "color": QUIET, "strokeWidth": 1.5, "opacity": 0.7}
        point_mark = {"type": "point", "color": QUIET, "filled": True, "size": 24, "opacity": 0.7}
        chart["layer"] = [{**quiet, "mark": line_mark}, {**quiet, "mark": point_mark}, *chart["layer"]]
    _lighten(chart, name)
    texts = {point["processes"]: _text(point, name) for point in results["points"] if point[name] is not None}
    beside = [{point["processes"]: _text(point, name) for point in entry["points"]} for _, entry in studies]
    sizes = sorted({*texts, *(size for column in beside for size in column)})
    return Figure(
        name=name,
        title=_(PLOT_TEXTS[name]),
        alt=_(ALT[name], points=", ".join(f"{size}: {text}" for size, text in texts.items())),
        spec=chart,
        columns=(
            _("Processes"), _(PLOT_TEXTS[name]), _("Single runs"),
            *(other for other, _ in studies),
        ),
        rows=tuple(
            (str(size), texts.get(size, "–"), _singles(spec, size, name), *(column.get(size, "–") for column in beside))
            for size in sizes
        ),
    )  # fmt: skip


def _lighten(chart: dict[str, Any], name: str) -> None:
    """Remove the data of a chart that it does not draw, because the page contains it beside its drawing."""
    unused = set(PANELS) - {name}
    chart["datasets"] = {
        dataset: [{key: _rounded(value) for key, value in row.items() if key not in unused} for row in rows]
        for dataset, rows in chart["datasets"].items()
        if rows
    }
    chart["layer"] = [layer for layer in chart["layer"] if layer["data"]["name"] in chart["datasets"]]
    chart["config"] = {key: entry for key, entry in chart["config"].items() if key != "title"}


def _rounded(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _text(point: Mapping[str, Any], name: str) -> str:
    return number(point[name], 3) if name == "speedup" else percent(point[name])


def _singles(spec: Mapping[str, Any], processes: int, name: str) -> str:
    """Return the values of single repeats of a point; – if there is only one run."""
    points = [point for point in spec["datasets"]["repeats"] if point["processes"] == processes]
    return ", ".join(_text(point, name) for point in points) or "–"
