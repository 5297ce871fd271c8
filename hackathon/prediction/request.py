"""Predict the result of a request, by the newest study of the same program on the same cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.index.gather import gather
from hackathon.index.memory import Memory
from hackathon.index.studies import StudyRuns, by_settings
from hackathon.jobs.request import Request
from hackathon.prediction.advice import AdvisedSizes, advice
from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.study import cluster_of, known_studies, of_study, others, physics_of
from hackathon.text.errors import RequestError


@dataclass(frozen=True)
class Reachable:
    """A prediction for one request."""

    study: str
    """The id of its study."""
    unit: str
    entry: Mapping[str, Any]
    """As in the JSON of `hackathon predict`."""
    advice: AdvisedSizes

    def to_json(self) -> dict[str, Any]:
        """Return the prediction with its study."""
        return {"study": self.study, "unit": self.unit, **self.entry, "advice": self.advice.to_json()}


def reachable(project: Path, request: Request) -> Reachable | None:
    """Return the prediction for a request by the studies of its project; None without a study of the program."""
    if not (project / "studies").is_dir():
        return None
    memory = Memory()
    studies = known_studies(gather(None, None, [project], ask=False, diagnose=False).summaries, memory)
    for study in studies:
        if cluster_of(study) != request.cluster or not any(run.name == request.name for run in study.runs):
            continue
        series = of_study(_alike(study, request), memory)
        if not series or (request.mode and series[0].mode != request.mode):
            continue
        physics = physics_of(study.runs, request.cluster, series[0].mode)
        knowledge = Knowledge(others(study, studies, memory), request.processes_per_node, physics)
        try:
            prediction = forecast(series[0], [request.processes], knowledge, advise=False)
        except RequestError:
            continue
        best = advice(prediction.series, prediction.rows, [request.processes], knowledge.others, physics)
        return Reachable(study.id, series[0].unit, prediction.predictions[0], best)
    return None


def _alike(study: StudyRuns, request: Request) -> StudyRuns:
    """Return the series of a study with the request's settings; its first one without a match."""
    series = by_settings(study)
    return next(
        (part for part in series if all(request.parameters.get(name) == v for name, v in part.settings.items())),
        series[0],
    )
