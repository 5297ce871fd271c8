"""Write a study for an experiment tracker, into a folder of its own or one that the user names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from hackathon.jobs.script import shell_word
from hackathon.runs.outputs.trackers import mlflow_ui
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study

Tracker = Literal["mlflow", "wandb"]
TRACKERS: tuple[Tracker, ...] = get_args(Tracker)


@dataclass(frozen=True)
class StudyExport:
    """A study that was written for an experiment tracker."""

    study: str
    tracker: Tracker
    folder: Path
    runs: Mapping[str, str]
    """Id of a run → that of the tracker's run."""
    left_out: tuple[str, ...]
    """Ids of runs that had not ended."""
    command: str
    """A line for a shell that shows or uploads it."""


def export_study(
    study: "Study", results: Mapping[str, Any], states: Iterable["RunStatus"], tracker: str, folder: Path | None = None
) -> StudyExport:
    """Write a study. `results`: those of `study_outcome`; `folder` is by default one in the study's own folder.

    Raises RequestError for an unknown tracker, without its package, for a study without ended runs, and for a folder
    that has the study already; ForeignFolderError for a folder of others; HackathonError when writing fails.
    """
    from hackathon.api.tracker_records import tracked_study
    from hackathon.config.trust import writable_folder

    chosen = next((name for name in TRACKERS if name == tracker), None)
    if chosen is None:
        raise RequestError("api.no_tracker", "there is no tracker {tracker!r}: mlflow or wandb", tracker=tracker)
    records = tracked_study(study, results, states)
    if not any(series.runs for series in records.series):
        raise RequestError("export.no_runs", "no run of {study} has ended: nothing to export", study=study.id)
    # studies/ID lies outside the source of the jobs, so that no job gets a copy of it
    target = folder if folder is not None else study.path / ("mlruns" if chosen == "mlflow" else "")
    if chosen == "mlflow":
        from hackathon.api.to_mlflow import require_mlflow, write_mlflow

        module = require_mlflow()
        ids = write_mlflow(module, records, writable_folder(target))
        command = mlflow_ui(str(target))
    else:
        from hackathon.api.to_wandb import require_wandb, write_wandb

        module = require_wandb()
        ids = write_wandb(module, records, writable_folder(target))
        command = f"wandb sync --sync-all {shell_word(str(target / 'wandb'))}"
    runs = {run.id: ids[run.id] for series in records.series for run in series.runs}
    return StudyExport(study.id, chosen, target, runs, records.left_out, command)
