"""Put the points of a study into the queue: reserve, make the run, submit."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.request import Request
from hackathon.runs import snapshot
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory, new_run_id
from hackathon.runs.study import Point, Study, create_study, holds, reserve, runs_of
from hackathon.runs.submit import Outcomes, submit_many
from hackathon.text.files import read_json

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.schedulers.base import Scheduler


def plan(requests: Sequence[Request], repeat: int, *, project: Path, unit: str, options: dict[str, Any]) -> Study:
    """Return a new study with one point per request and repeat, smallest first.

    The study keeps every request, so that a later `--resume` submits what was meant then, whatever was edited since.
    """
    first = requests[0]
    return create_study(
        project,
        first.name,
        mode=first.mode or "weak",
        metric=first.metric,
        unit=unit,
        points=[(request.processes, number) for request in requests for number in range(1, repeat + 1)],
        base_request=first,
        options={**options, "requests": {str(request.processes): request.to_json() for request in requests}},
    )


def request_of(study: Study, processes: int) -> Request:
    """Return the request of a study's points with this many processes. Raises KeyError when there is none."""
    return Request.from_json(study.record()["options"]["requests"][str(processes)])


def source_of(study: Study, folder: Path) -> snapshot.Source:
    """Return the source that all points of a study run: that of its first run, else the folder as it is now."""
    request = study.base_request()
    if not request.in_place:
        for run in runs_of(study):
            record = read_json(run.path / "source.json")
            if isinstance(record, dict) and (run.path / "source").is_dir():
                return snapshot.recorded(run.path / "source", record)
    return snapshot.take(folder, runs_folder=study.runs_folder, in_place=request.in_place)


def submit_points(
    study: Study,
    points: Sequence[Point],
    cluster: "Cluster",
    scheduler: "Scheduler",
    source: snapshot.Source,
    template_folders: Sequence[Path] = (),
) -> Outcomes:
    """Make the runs of these points and submit them; a point that somebody else reserved meanwhile is passed over.

    A point that comes with a run which never got into the queue gets that run submitted. Errors of the scheduler,
    and one in making a run, come back in the outcomes.
    """
    from hackathon.jobs.render import JobScript, render

    options = study.record().get("options", {})
    scripts: dict[int, tuple[Request, JobScript]] = {}

    def runs() -> Iterator[RunDirectory]:
        for point in points:
            if point.run is not None:
                yield point.run
                continue
            if point.processes not in scripts:
                request = request_of(study, point.processes)
                scripts[point.processes] = request, render(request, cluster, template_folders)
            request, script = scripts[point.processes]
            run_id = new_run_id(request.name, request.processes)
            if not reserve(study, point, run_id):
                continue
            run = create(
                request,
                script,
                runs_folder=study.runs_folder,
                run_id=run_id,
                note=str(options.get("note") or ""),
                tags=options.get("tags") or (),
                study={"id": study.id, "processes": point.processes, "repeat": point.repeat},
                source=source,
                facts={"after": options["after"]} if "after" in options else None,  # a preflight
            )
            # making it may have taken so long that somebody else took the point over
            if holds(study, run):
                yield run

    return submit_many(runs(), scheduler)
