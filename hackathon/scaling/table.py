"""Combine runs into points: median, spread, speed-up and parallel efficiency of a study. Pure.

A study that varies more than the process count has a series for each combination of its settings. Everything is
computed within a series: points with different settings are never compared.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, stdev
from typing import Any

from hackathon.profiling.points import point_json, run_json
from hackathon.profiling.shares import RunShares
from hackathon.runs.record import RecordedCheck
from hackathon.scaling.doubts import Doubt, merged, point_doubts, work_doubt
from hackathon.scaling.fit import Measured, fit
from hackathon.text.numbers import finite
from hackathon.text.units import PER_PROCESS

SCHEMA_VERSION = 1
TARGET = 0.75
"""Target of parallel efficiency for a study: "three out of four"."""
SUCCEEDED, PARTIAL = "SUCCEEDED", "PARTIAL"
OPEN = ("UNCERTAIN", "CREATED", "QUEUED", "HELD", "RUNNING", "ENDING")

_STEPS = re.compile(r"(?:steps?|iterations?|iters?|its?|batch(?:es)?|ステップ|反復|バッチ)/(?P<per>\w+)\Z")
_TIME = re.compile(
    r"(?:ns|us|µs|ms|s|sec|seconds|min|minutes|h|hours|マイクロ秒|ミリ秒|秒|分|時間)(?:/(?P<per>\w+))?\Z"
)
_MOMENTS = frozenset({"s", "sec", "second", "min", "minute", "h", "hour", "d", "day", "秒", "分", "時間", "日"})
"""Units of time. Another quantity per such a unit is a rate: molecular dynamics has simulated `ns/day`."""
_PER_STEP = frozenset({"step", "iteration", "iter", "it", "batch", "ステップ", "反復", "バッチ"})


@dataclass(frozen=True)
class RunResult:
    """The data of one run for a study."""

    id: str
    job_id: str | None
    processes: int
    nodes: int
    status: str
    """A run's state (`runs.states`)."""
    reason: str = ""
    value: float | None = None
    """The study's metric, None when the run has none."""
    note: str = ""
    tags: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What its study varies besides the process count."""
    doubts: tuple[Doubt, ...] = ()
    """Doubts about its value from its own records."""
    work: float | None = None
    """Samples of a step over all processes; None when not recorded."""
    sure: Mapping[str, str] = field(default_factory=dict)
    """Metric → how reliable it is, if known (`logs.formats.read_formats`)."""
    shares: RunShares | None = None
    """The split of its steps' time; None when not recorded."""
    recorded: Mapping[str, float] = field(default_factory=dict)
    """Throughput as counted by the recorder (`logs.recorded.rates`)."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Metric → its source (`logs.final`)."""
    source: str = ""
    """The source of `value`; empty without a value."""


def results(
    study_id: str,
    mode: str,
    metric: str,
    unit: str,
    runs: Sequence[RunResult],
    *,
    baseline: RunResult | None = None,
    check: RecordedCheck | None = None,
) -> dict[str, Any]:
    """Return a study's results as JSON values, without NaN.

    `series` has one entry for each combination of settings, in the order of their values; with a single combination its
    content is also at the top. A point's value is the median over its successful repeats; speed-up = Xp/Xbase and
    efficiency = speed-up ÷ (p/base), within a series. The base is its smallest point with a value, or `baseline`, a run
    of this or another study: among several series it is the base of the one with its settings. More is better unless
    the unit is a time (`s`, `ms`, `s/step`): then Xp/Xbase is Tbase/Tp. For one step (`s/step`, `steps/s`) it is
    multiplied by p/base in weak scaling, where its work grows with p; so are rates of one process (`samples/s/GPU`) in
    both modes. `unreadable` exists only if there are any: runs whose request no longer contains their number of
    processes. Besides the fields of every result, series may have `baseline` (run id), and points and runs may have
    `reason`, `note` and `tags`. `doubts` of a run come from its own records and its work per step; a point has those of
    its runs and those from its comparison with others. A doubted value counts like any other; displays mark it.
    `shares` of a run and of a point, the mean of its successful runs: the split of a step's time (`profiling.shares`),
    or None.
    """
    groups: dict[str, list[RunResult]] = {}
    lost = [run for run in runs if run.processes <= 0]  # a run with an incomplete request has no position on the axis
    runs = [run for run in runs if run.processes > 0]
    for run in runs:
        groups.setdefault(_same_settings(run.settings), []).append(run)
    series = []
    for key in sorted(groups, key=lambda key: _order(groups[key][0].settings)):
        base = baseline if baseline and (len(groups) == 1 or _same_settings(baseline.settings) == key) else None
        series.append({"settings": dict(groups[key][0].settings), **_series(mode, unit, groups[key], base, check)})
    head = {"schema_version": SCHEMA_VERSION, "study": study_id, "mode": mode, "metric": metric, "unit": unit}
    head |= {"unreadable": [{"id": run.id, "status": run.status} for run in lost]} if lost else {}
    alone = series[0] if len(series) == 1 else {} if series else _series(mode, unit, [], baseline, check)
    return {**head, **{name: value for name, value in alone.items() if name != "settings"}, "series": series}


def series_of(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each series of a study's results as separate results with its `settings`; one when nothing varies.

    Results without `series`, from an older toolkit, are one series.
    """
    head = {name: results[name] for name in ("schema_version", "study", "mode", "metric", "unit") if name in results}
    series = results.get("series")
    return [{**head, **entry} for entry in series] if series else [{"settings": {}, **results}]


def points_of(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of all series."""
    return [point for entry in series_of(results) for point in entry["points"]]


def _same_settings(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)


def _order(settings: Mapping[str, Any]) -> list[tuple[str, int, float, str]]:
    """Return the sort key of series: the values of their settings, numbers by size."""
    return [
        (name, 0, float(value), "") if isinstance(value, (int, float)) else (name, 1, 0.0, str(value))
        for name, value in settings.items()
    ]


def _series(
    mode: str,
    unit: str,
    runs: Sequence[RunResult],
    baseline: RunResult | None,
    check: RecordedCheck | None,
) -> dict[str, Any]:
    """Return the results of runs with equal settings."""
    by_size: dict[int, list[RunResult]] = {}
    for run in runs:
        by_size.setdefault(run.processes, []).append(run)
    values = {size: [v for run in runs if (v := _usable(run)) is not None] for size, runs in by_size.items()}
    base_size = next((size for size in sorted(values) if values[size]), None)
    base_value = median(values[base_size]) if base_size is not None else None
    if baseline is not None:
        base_size, base_value = baseline.processes, _usable(baseline)
    doubts = _doubts(mode, by_size)
    points, measured = [], []
    for size in sorted(by_size):
        point = _point(size, by_size[size], values[size], doubts)
        if point["value"] is not None and base_value is not None and base_size:
            point["speedup"] = _speedup(mode, unit, point["value"], base_value, size / base_size)
            point["efficiency"] = finite(point["speedup"] * base_size / size) if point["speedup"] else None
            measured.append(_measured(point, size / base_size))
        points.append(point)
    _add_point_doubts(points, base_size, own_base=baseline is None)
    if baseline is not None and base_size and base_size not in by_size:
        measured.append(Measured(processes=base_size, n=1.0, speedup=1.0))
    table: dict[str, Any] = {
        "base_processes": base_size if base_value is not None else None,
        "points": points,
        "checks": _checks(runs, check),
        "fit": fit(mode, [point for point in measured if point is not None]),
    }
    if baseline is not None:
        table["baseline"] = baseline.id
    return table


def lower_is_better(unit: str) -> bool:
    """Return True for a unit of time: `s`, `ms`, `s/step`; not for `ns/day`, a rate."""
    match = _TIME.match(_of_all(unit))
    return match is not None and match["per"] not in _MOMENTS


def grows_with_processes(unit: str) -> bool:
    """Return True for a unit of one step, `s/step` or `steps/s`: in weak scaling its work grows with the processes."""
    unit = _of_all(unit)
    if match := _TIME.match(unit):
        return match["per"] in _PER_STEP
    match = _STEPS.match(unit)
    return match is not None and match["per"] in _MOMENTS


def per_process(unit: str) -> bool:
    """Return True for the rate of one process, `samples/s/GPU`; not for a time, which all processes take together."""
    return unit.strip().lower().endswith(PER_PROCESS) and not lower_is_better(unit)


def _of_all(unit: str) -> str:
    """Return a unit in lower case, without the suffix for one process."""
    unit = unit.strip().lower()
    return next((unit.removesuffix(end) for end in PER_PROCESS if unit.endswith(end)), unit)


def failed(results: Mapping[str, Any]) -> bool:
    """Return True when a run of these results failed (a study that is still running has not failed)."""
    return any(
        run["status"] != SUCCEEDED and run["status"] not in OPEN
        for point in points_of(results)
        for run in point["runs"]
    )


def _usable(run: RunResult) -> float | None:
    value = finite(run.value)
    # Beyond these a number is garbage, and its square would not fit into a float.
    return value if run.status == SUCCEEDED and value is not None and 1e-100 < value < 1e100 else None


def _speedup(mode: str, unit: str, value: float, base: float, n: float) -> float | None:
    # n processes do n times the work of one, and in weak scaling a step is n times the work
    work = n if per_process(unit) or (mode == "weak" and grows_with_processes(unit)) else 1.0
    return finite((base / value if lower_is_better(unit) else value / base) * work)


def _measured(point: Mapping[str, Any], n: float) -> Measured | None:
    """Return a point for the fit; None for a value a million times off the base, which is a measuring error."""
    spread = point["spread"]
    relative = spread["stdev"] / point["value"] if spread["stdev"] is not None else None
    if not point["speedup"] or not 1e-6 < point["speedup"] / n < 1e6 or (relative or 0.0) > 1e6:
        return None
    return Measured(int(point["processes"]), n, point["speedup"], spread["n"], relative)


def _doubts(mode: str, by_size: Mapping[int, Sequence[RunResult]]) -> dict[str, tuple[Doubt, ...]]:
    """Return run id → its doubts: those of its records, and of its work compared with the smallest run's."""
    good = [run for size in sorted(by_size) for run in by_size[size] if run.status == SUCCEEDED]
    first = next((run for run in good if run.work), None)
    doubts = {}
    for run in good:
        worked = None
        if first is not None and first.work and run.work and run.processes > first.processes:
            worked = work_doubt(mode, run.processes, run.work, first.processes, first.work)
        doubts[run.id] = (*run.doubts, *([worked] if worked else ()))
    return doubts


def _add_point_doubts(points: Sequence[dict[str, Any]], base_size: int | None, *, own_base: bool) -> None:
    """Add to each point the doubts from comparisons; a baseline chosen by the user is not doubted."""
    base = next((point for point in points if point["processes"] == base_size and point["value"] is not None), None)
    smallest = min((point["processes"] for point in points), default=0) if own_base else base_size or 0
    before = None
    for point in points:
        point["doubts"] = merged([*point["doubts"], *point_doubts(point, base, before, smallest)])
        before = point if point["value"] is not None else before


def _point(
    size: int, runs: Sequence[RunResult], values: Sequence[float], doubts: Mapping[str, Sequence[Doubt]]
) -> dict[str, Any]:
    states = [run.status for run in runs]
    broken = next((run for run in runs if run.status != SUCCEEDED and run.status not in OPEN), None)
    waiting = next((run for run in runs if run.status in OPEN), None)
    status = SUCCEEDED
    if broken or waiting:
        status = PARTIAL if SUCCEEDED in states else (broken or waiting or runs[0]).status
    point: dict[str, Any] = {
        "processes": size,
        "nodes": max(run.nodes for run in runs),
        "value": finite(median(values)) if values else None,
        "spread": {
            "min": min(values, default=None),
            "max": max(values, default=None),
            "stdev": finite(stdev(values)) if len(values) > 1 else None,
            "n": len(values),
        },
        "speedup": None,
        "efficiency": None,
        "status": status,
        "metric_source": _source([run.source for run in runs if _usable(run) is not None]),
        "shares": point_json([run.shares for run in runs if run.status == SUCCEEDED and run.shares is not None]),
        "runs": [_run(run, doubts.get(run.id, ())) for run in runs],
    }
    point["doubts"] = merged(doubt for run in point["runs"] for doubt in run["doubts"])
    reason = (broken or waiting or runs[0]).reason
    if reason:
        point["reason"] = reason
    return point


def _source(sources: Sequence[str]) -> str | None:
    """Return the source that all values have in common, None without one."""
    return sources[0] or None if len(set(sources)) == 1 else None


def _run(run: RunResult, doubts: Sequence[Doubt]) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": run.id, "job_id": run.job_id, "status": run.status, "value": finite(run.value)}
    entry["metric_source"] = _source([run.source] if run.value is not None else [])
    entry["doubts"] = merged(doubt.to_json() for doubt in doubts)
    entry["shares"] = run_json(run.shares if run.status == SUCCEEDED else None)
    if run.reason:
        entry["reason"] = run.reason
    if run.note:
        entry["note"] = run.note
    if run.tags:
        entry["tags"] = list(run.tags)
    return entry


def _checks(runs: Sequence[RunResult], check: RecordedCheck | None) -> dict[str, Any]:
    """Return a check's condition and the values of successful runs; `passed` is None if one has no value."""
    if check is None:
        return {}
    entries = []
    for run in runs:
        if run.status != SUCCEEDED:
            continue
        value = run.metrics.get(check.metric)
        entries.append({"id": run.id, "value": finite(value), "passed": check.passes(value)})
    verdicts = [entry["passed"] for entry in entries]
    passed_all = None if not verdicts else False if False in verdicts else None if None in verdicts else True
    return {**check.to_json(), "passed": passed_all, "runs": entries}
