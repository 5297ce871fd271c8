"""Write a study into a tracking folder of MLflow: an experiment, a run for each series, below it one for each run."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hackathon.api.libraries import library
from hackathon.api.tracker_records import TrackedStudy, not_written
from hackathon.text.errors import RequestError

_PACKAGE = "mlflow-skinny"
_FOREIGN = re.compile(r"[^\w\-./ ]")
"""What the name of a metric, parameter or tag cannot contain."""
_LONGEST = 500
"""Characters of a value, which every version accepts."""
_AT_ONCE = 900
"""Metrics of one call, at most; MLflow accepts 1000."""


def require_mlflow() -> Any:
    """Return the module. Raises RequestError where it is not installed."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # the user decides what is sent from this machine
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # from version 3.7 on folders are refused without it
    return library("mlflow", _PACKAGE)


def write_mlflow(mlflow: Any, study: TrackedStudy, folder: Path) -> dict[str, str]:
    """Return the id of a series or a run → that of MLflow's run in the folder.

    If writing fails, nothing of the study counts there: MLflow marks its runs as deleted. Raises RequestError for a
    folder that has the study; HackathonError with MLflow's own message.
    """
    client = mlflow.MlflowClient(tracking_uri=folder.resolve().as_uri())
    ids: dict[str, str] = {}
    try:
        experiment = _experiment(client, study, folder)
        for series in study.series:
            parent = _create(client, experiment, series.name, {**series.tags, "hackathon.series": "true"}, None)
            ids[series.id] = parent
            _log(mlflow, client, parent, series.parameters, {})
            points = [
                mlflow.entities.Metric(_name(name), value, 0, int(point["processes"]))
                for point in series.points
                for name, value in point.items()
                if name != "processes"
            ]
            for first in range(0, len(points), _AT_ONCE):
                client.log_batch(parent, metrics=points[first : first + _AT_ONCE])
            for run in series.runs:
                note = {"mlflow.note.content": run.note} if run.note else {}
                tags = {**run.tags, **note, "mlflow.parentRunId": parent}
                ids[run.id] = identifier = _create(client, experiment, run.name, tags, run.started)
                _log(mlflow, client, identifier, run.parameters, run.metrics)
                status = "FINISHED" if run.succeeded else "FAILED"
                client.set_terminated(identifier, status, None if run.ended is None else round(1000 * run.ended))
            client.set_terminated(parent, "FINISHED")
    except BaseException as error:
        for identifier in ids.values():
            _forget(mlflow, client, identifier)
        if isinstance(error, (mlflow.exceptions.MlflowException, OSError)):
            raise not_written(study, folder, error) from error
        raise
    return ids


def _experiment(client: Any, study: TrackedStudy, folder: Path) -> str:
    """Return the id of the study's experiment. Raises RequestError if it has runs already."""
    experiment = client.get_experiment_by_name(study.id)
    if experiment is None:
        return str(client.create_experiment(study.id))
    if client.search_runs([experiment.experiment_id], max_results=1):
        raise RequestError(
            "export.exists",
            "{folder} has the study {study} already",
            hint="--dir FOLDER writes to another one; or delete the experiment there",
            folder=str(folder),
            study=study.id,
        )
    return str(experiment.experiment_id)


def _create(client: Any, experiment: str, name: str, tags: Mapping[str, str], started: float | None) -> str:
    valid = {_name(key): text[:_LONGEST] for key, text in tags.items() if text}
    begun = None if started is None else round(1000 * started)
    run = client.create_run(experiment, start_time=begun, tags=valid, run_name=name)
    return str(run.info.run_id)


def _log(mlflow: Any, client: Any, run: str, parameters: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
    entities = mlflow.entities
    client.log_batch(
        run,
        metrics=[entities.Metric(_name(name), value, 0, 0) for name, value in metrics.items()],
        params=[entities.Param(_name(name), str(value)[:_LONGEST]) for name, value in parameters.items()],
    )


def _forget(mlflow: Any, client: Any, run: str) -> None:
    try:
        client.delete_run(run)
    except (mlflow.exceptions.MlflowException, OSError):
        pass


def _name(text: str) -> str:
    return _FOREIGN.sub("_", text)
