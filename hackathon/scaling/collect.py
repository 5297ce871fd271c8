"""Read what one run directory contributes to a study."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.logs.metrics import read_metrics
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.table import RunResult
from hackathon.text.files import read_json


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


def metric_unit(request: Mapping[str, Any], metric: str) -> str:
    """Return a metric's unit from a request; the throughput of the runtime's Meter is samples/s unsaid."""
    entry = _mapping(_mapping(request.get("metrics")).get(metric))
    return str(entry.get("unit") or ("samples/s" if metric == "samples_per_s" else ""))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
