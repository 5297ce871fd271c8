"""The metrics with which a run's output is read: those of its project's current files, else those of its request.

A user can correct a wrong pattern in project.yaml, and existing runs are read again. Their files do not change.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hackathon.text.files import open_regular
from hackathon.text.json_fields import mapping_of, mappings_of, text_of

DEFAULT_METRIC = "samples_per_s"
"""The metric of a run whose request has none."""
RUN, PROJECT = "run", "project"
KEPT = 64
"""Projects whose metrics are cached in memory."""


@dataclass(frozen=True)
class RunMetrics:
    """The metrics of a run or a study, and their origin."""

    metric: str = DEFAULT_METRIC
    """The metric that counts as the result."""
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name → declared metric (fields of config.recipe.Metric)."""
    origin: str = RUN
    """PROJECT: project.yaml differs from the request."""


class _Declared(NamedTuple):
    """The content of a project.yaml."""

    name: str
    metric: str
    metrics: Mapping[str, Mapping[str, Any]]


def measured_by(project: Path | str, owner: Path | str, request: Mapping[str, Any]) -> RunMetrics:
    """Return the metrics of a run or a study in a project's folder; `request`: its request, as JSON.

    The metrics of project.yaml count if the run belongs to this project by its name, uses no recipe (whose metrics
    belong to the copied program), and its directory `owner` and project.yaml belong to the same account: another
    account's patterns must not be applied to a run. A file that is missing, broken or a link changes nothing.
    """
    own = RunMetrics(text_of(request.get("metric")) or DEFAULT_METRIC, mappings_of(request.get("metrics")))
    name = text_of(request.get("name"))
    if not name or not project or request.get("recipe"):
        return own
    declared = _declared(f"{project}/project.yaml", str(owner))
    if declared is None or declared.name != name:
        return own
    if (declared.metric, _patterns(declared.metrics)) == (own.metric, _patterns(own.metrics)):
        return own
    return RunMetrics(declared.metric, declared.metrics, PROJECT)


def study_as_measured(project: Path | str, owner: Path | str, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a study (`study.json`) with the metrics that its runs are read with, and `metrics_from`."""
    request = mapping_of(record.get("base_request"))
    metrics = measured_by(project, owner, request)
    if metrics.origin == RUN:
        return {**record, "metrics_from": RUN}
    base = {**request, "metric": metrics.metric, "metrics": metrics.metrics}
    return {**record, "metric": metrics.metric, "unit": "", "base_request": base, "metrics_from": PROJECT}


def declared_digest(project: Path | str) -> str:
    """Return a digest of the metrics that the project.yaml in a folder declares; empty without any."""
    declared = _declared(f"{project}/project.yaml", str(project), same_owner=False)
    if declared is None:
        return ""
    text = json.dumps([declared.name, declared.metric, declared.metrics], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def mark_of(project: Path | str) -> tuple[int, ...]:
    """Return values that change with a folder's project.yaml; empty without one."""
    try:
        status = os.lstat(f"{project}/project.yaml")
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_uid


def _patterns(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return metrics with every field: a field that an older toolkit did not write must not count as a difference."""
    from hackathon.config.recipe import Metric

    default = asdict(Metric())
    return {name: default | dict(entry) for name, entry in metrics.items()}


def _declared(path: str, owner: str, *, same_owner: bool = True) -> _Declared | None:
    try:
        status, run = os.lstat(path), os.lstat(owner)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or (
        same_owner and (status.st_uid, 1) != (run.st_uid, stat.S_ISDIR(run.st_mode))
    ):
        return None
    return _read(path, status.st_mtime_ns, status.st_size, status.st_ino, status.st_uid)


@lru_cache(KEPT)
def _read(path: str, changed: int, size: int, node: int, uid: int) -> _Declared | None:
    """Return the content of a file; the numbers are the cache key and change with the file."""
    from hackathon.config.load import load_project
    from hackathon.config.problems import MAXIMUM_BYTES
    from hackathon.text.errors import HackathonError

    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_uid != uid or size > MAXIMUM_BYTES:
                return None
            project = load_project(Path(path).parent, stream.read(MAXIMUM_BYTES))
    except (OSError, HackathonError):
        return None
    if project.recipe:
        return None
    metrics = {name: asdict(metric) for name, metric in project.metrics.items()}
    return _Declared(project.name, project.metric or DEFAULT_METRIC, metrics)
