"""Read what one run directory contributes to a study."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.logs.formats import UNITS
from hackathon.logs.metrics import read_metrics
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.table import RunResult, results
from hackathon.text.files import read_json

if TYPE_CHECKING:
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study


def run_result(run: Path, *, status: str, reason: str = "", metric: str | None = None) -> RunResult:
    """Return a run's result: its state as the caller found it, its sizes, notes and job id from its files, its metrics.

    `metric` replaces the request's; a run that has not ended gives what it measured so far in `metrics`, but only a
    successful one counts in a table. Raises RequestError for a metric's pattern that is not a regular expression.
    """
    request = _mapping(read_json(run / "request.json"))
    name = metric or str(request.get("metric") or "samples_per_s")
    metrics = read_metrics(run, _mapping(request.get("metrics")), name)
    tags = request.get("tags")
    return RunResult(
        id=run.name,
        job_id=RunDirectory(run).job_id(),
        processes=int(request.get("processes") or 1),
        nodes=int(request.get("nodes") or 1),
        status=status,
        reason=reason,
        value=metrics.get(name),
        note=str(request.get("note") or ""),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        metrics=metrics,
    )


def study_results(
    study: "Study", states: Iterable["RunStatus"], *, metric: str | None = None, baseline: RunResult | None = None
) -> dict[str, Any]:
    """Return a study's results: its runs' metrics with the states that the caller found.

    `metric` replaces the study's own. A study by samples/s whose programs print none, but tokens/s or steps/s, is made
    with those. Points without a run are not in the result. Raises as `run_result`.
    """
    record = study.record()
    name = metric or str(record["metric"])
    request = _mapping(record.get("base_request"))
    runs = [
        run_result(study.runs_folder / state.run_id, status=state.state, reason=state.explanation, metric=name)
        for state in states
    ]
    if metric is None and name == "samples_per_s" and name not in _mapping(request.get("metrics")):
        name = _told(runs)
        runs = [replace(run, value=run.metrics.get(name)) for run in runs]
    own = metric is None and name == record["metric"]
    unit = str(record.get("unit") or "") if own else metric_unit(request, name)
    check = request.get("check")
    return results(
        study.id,
        str(record["mode"]),
        name,
        unit,
        runs,
        baseline=baseline,
        check=check if isinstance(check, dict) else None,
    )


def metric_unit(request: Mapping[str, Any], metric: str) -> str:
    """Return a metric's unit from a request, or the one that a metric of this name has in the known formats."""
    entry = _mapping(_mapping(request.get("metrics")).get(metric))
    return str(entry.get("unit") or UNITS.get(metric, ""))


def _told(runs: Iterable[RunResult]) -> str:
    """Return the throughput that successful runs tell: samples/s, else tokens/s, else steps/s."""
    names = {name for run in runs if run.status == "SUCCEEDED" for name in run.metrics}
    return next((name for name in ("samples_per_s", "tokens_per_s", "steps_per_s") if name in names), "samples_per_s")


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
