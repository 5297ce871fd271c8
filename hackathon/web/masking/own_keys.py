"""The keys of this toolkit's own published data, which identify nobody, even if somebody has such a name."""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

from hackathon.config.recipe import Check, Data, Metric
from hackathon.jobs.request import Request
from hackathon.logs.formats import UNITS
from hackathon.profiling.shares import PARTS, UNMARKED, RunShares, StepShares
from hackathon.runs.record import RecordedCheck as RunCheck
from hackathon.runs.record import RunRecord, StudyPoint
from hackathon.scaling.table import RunResult, results

_OF_FILES = frozenset(
    {"schema_version", "url", "size", "unpack", "sha256", "path", "variant", "digest", "built", "reason", "series"}
)
_OF_CRATES = frozenset(
    {"run", "state", "open", "reason", "started", "ended", "seconds", "processes", "nodes", "metric", "unit", "check",
     "metrics", "texts", "folder", "in_place", "digest", "files", "links", "added", "git", "commit", "branch", "dirty",
     "source", "executable", "complete", "digest_as_run", "masked", "altered", "left_out", "outside"}
)  # fmt: skip
_OF_HOSTS = frozenset(
    {"host", "kernel", "cores", "python", "executable", "packages", "modules", "mpi", "gpus", "interfaces"}
)
_OF_METERS = frozenset(
    {"accuracy", "val_accuracy", "loss", "val_loss", "perplexity", "step", "epoch", "samples", "lr", "weights"}
)
_OF_SITES = frozenset(
    {"event", "points", "title", "dates", "place", "team", "study", "name", "cluster", "repeats", "stdev"}
)


@cache
def own_keys() -> frozenset[str]:
    """Return the keys of requests, results, crates and tables, without those that a team chose (parameters)."""
    records = (Request, RunRecord, StudyPoint, Check, Data, Metric, RunResult)
    names = {entry.name for record in records for entry in fields(record)} | set(_keys(_every_result()))
    return frozenset(names | _OF_FILES | _OF_CRATES | _OF_HOSTS | _OF_METERS | _OF_SITES | set(UNITS))


def _every_result() -> dict[str, Any]:
    """Return the results of an artificial study with every optional part."""
    shares = RunShares(2, (StepShares(0, 50, 1.0, 0.9, unknown=tuple((part, UNMARKED) for part in PARTS[1:])),))
    runs = [
        RunResult(
            f"{size}",
            None,
            size,
            1,
            "SUCCEEDED",
            "why",
            100.0 * size**0.9,
            "note",
            ("tag",),
            {"accuracy": 1.0},
            shares=shares,
        )
        for size in (1, 2, 4, 8)
    ]
    return results("s", "strong", "samples_per_s", "samples/s", runs, baseline=runs[0], check=RunCheck("accuracy", 0.9))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from _keys(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _keys(entry)
