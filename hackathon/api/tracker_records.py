"""A study as the records of an experiment tracker: one for each series, one for each run. Nothing is written here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.records import Scalar
from hackathon.jobs.settings import settings_text
from hackathon.logs.final import final_numbers
from hackathon.runs.directory import RunDirectory
from hackathon.scaling.show import doubt_ids
from hackathon.scaling.table import OPEN, SUCCEEDED, series_of
from hackathon.text.errors import HackathonError
from hackathon.text.numbers import finite

if TYPE_CHECKING:
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study

_OF_REQUEST = (
    "cluster", "queue", "launcher", "nodes", "processes", "processes_per_node", "threads", "gpus_per_node", "walltime",
)  # fmt: skip
"""Fields of a run's record that become parameters."""


@dataclass(frozen=True)
class TrackedRun:
    """One run of a study, a repeat of one of its points."""

    id: str
    name: str
    """Display name: process count and number of the repeat."""
    parameters: Mapping[str, Scalar]
    metrics: Mapping[str, float]
    """Its final numbers, finite ones; that of the study as its results have it."""
    tags: Mapping[str, str]
    note: str
    succeeded: bool
    started: float | None
    """Seconds since 1970."""
    ended: float | None


@dataclass(frozen=True)
class TrackedSeries:
    """The points of a study with equal settings, and their runs."""

    id: str
    name: str
    parameters: Mapping[str, Scalar]
    points: tuple[Mapping[str, float], ...]
    """`processes`, and the study's metric, `speedup` and `efficiency` where they are known."""
    tags: Mapping[str, str]
    runs: tuple[TrackedRun, ...]


@dataclass(frozen=True)
class TrackedStudy:
    """What a tracker gets of a study."""

    id: str
    name: str
    series: tuple[TrackedSeries, ...]
    left_out: tuple[str, ...] = ()
    """Ids of runs that have not ended."""


def tracked_study(study: "Study", results: Mapping[str, Any], states: Iterable["RunStatus"]) -> TrackedStudy:
    """Return the records of a study. `results`: those of `prediction.results.study_outcome`; `states`: of its runs."""
    by_id = {state.run_id: state for state in states}
    parts = series_of(results)
    series, left_out = [], []
    for number, part in enumerate(parts, 1):
        settings = dict(part["settings"])
        runs = []
        for point in part["points"]:
            for repeat, run in enumerate(point["runs"], 1):
                if run["status"] in OPEN:
                    left_out.append(run["id"])
                    continue
                directory = RunDirectory(study.runs_folder / run["id"])
                runs.append(_run(directory, results, settings, point, run, repeat, by_id.get(run["id"])))
        series.append(
            TrackedSeries(
                id=study.id[-8:] if len(parts) == 1 else f"{study.id[-8:]}-{number}",
                name=f"{study.id} {settings_text(settings)}".rstrip(),
                parameters={"mode": results["mode"], "base_processes": part["base_processes"] or 0, **settings},
                points=tuple(_points(results["metric"], part["points"])),
                tags={**_tags(study.id, results), "hackathon.doubts": doubt_ids(_doubts(part["points"]))},
                runs=tuple(runs),
            )
        )
    return TrackedStudy(study.id, text_or(study.record().get("name"), study.id), tuple(series), tuple(left_out))


def not_written(study: TrackedStudy, folder: Path, error: Exception) -> HackathonError:
    """Return the error of a study that a tracker could not write, with the first line of the tracker's own message."""
    return HackathonError(
        "export.failed",
        "{study} could not be written to {folder}: {what}",
        study=study.id,
        folder=str(folder),
        what=str(error).partition("\n")[0],
    )


def text_or(value: object, default: str) -> str:
    """Return a text that is not empty, else the default."""
    return value if isinstance(value, str) and value else default


def _points(metric: str, points: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, float]]:
    for point in points:
        values = {metric: point["value"], "speedup": point["speedup"], "efficiency": point["efficiency"]}
        known = {name: value for name, value in values.items() if value is not None}
        if known:
            yield {"processes": float(point["processes"]), **known}


def _doubts(points: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return each kind of doubt about any point once."""
    return [*{doubt["id"]: doubt for point in points for doubt in point["doubts"]}.values()]


def _tags(study: str, results: Mapping[str, Any]) -> dict[str, str]:
    return {"hackathon.study": study, "hackathon.metric": results["metric"], "hackathon.unit": results["unit"]}


def _run(
    directory: RunDirectory, results: Mapping[str, Any], settings: Mapping[str, Scalar], point: Mapping[str, Any],
    run: Mapping[str, Any], repeat: int, state: "RunStatus | None",
) -> TrackedRun:  # fmt: skip
    record = directory.known()
    numbers = dict(final_numbers(directory.path, record, over=True).values)
    numbers.pop(results["metric"], None)  # the results may have it from another source
    if run["value"] is not None:
        numbers[results["metric"]] = run["value"]
    asked = {name: getattr(record, name) for name in _OF_REQUEST}
    tags = {
        **_tags(results["study"], results), "hackathon.run": run["id"], "hackathon.job": run["job_id"] or "",
        "hackathon.state": run["status"], "hackathon.reason": run.get("reason", ""),
        "hackathon.metric_source": run["metric_source"] or "", "hackathon.doubts": doubt_ids(run["doubts"]),
        "hackathon.tags": " ".join(run.get("tags", ())),
        "hackathon.not_finite": " ".join(name for name, value in numbers.items() if finite(value) is None),
    }  # fmt: skip
    return TrackedRun(
        id=run["id"],
        name=f"{point['processes']}p #{repeat}",
        parameters={**asked, **settings, **{str(name): value for name, value in record.parameters.items()}},
        metrics={name: value for name, value in numbers.items() if finite(value) is not None},
        tags={name: text for name, text in tags.items() if text},
        note=run.get("note", ""),
        succeeded=run["status"] == SUCCEEDED,
        started=state.t_started if state is not None else None,
        ended=state.t_ended if state is not None else None,
    )
