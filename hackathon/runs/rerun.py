"""Repeat a run: its recorded script and source, in a new run."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.source import snapshot
from hackathon.runs.source.provenance import differences
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json

__all__ = ["differences", "rerun", "source_of"]


def rerun(
    run: RunDirectory, *, runs_folder: Path | None = None, note: str = "", tags: Sequence[str] = ()
) -> RunDirectory:
    """Return a new, unsubmitted run with the recorded files of an earlier run, which is its `parent`.

    The source is the earlier run's copy: the recorded files as they are now, without files that the job added. An
    in-place run uses the live folder again. `differences` lists beforehand what has changed. The new run is not a point
    of the study. Raises RequestError when the script or a recorded file is gone, and the errors of `create`.
    """
    from hackathon.jobs.render import JobScript

    request = run.request()
    runs_folder = run.path.parent if runs_folder is None else runs_folder
    source = source_of(run, runs_folder)
    try:
        job, rank = (
            (run.path / name).read_bytes().decode("utf-8", "surrogateescape") for name in ("job.sh", "rank.sh")
        )
    except OSError as error:
        raise RequestError("runs.rerun_no_script", run=run.id, what=error.strerror or error) from error
    return create(
        request,
        JobScript(job, rank),
        runs_folder=runs_folder,
        note=note or run.note,
        tags=tags or run.tags,
        parent=run.id,
        source=source,
    )


def source_of(run: RunDirectory, runs_folder: Path) -> snapshot.Source:
    """Return the program of an earlier run: its copy, or the live folder again. Raises RequestError without one."""
    record = read_json(run.path / "source.json")
    if run.client("adopted") or not isinstance(record, dict):
        raise RequestError("runs.rerun_no_source", run=run.id)
    request = run.request()
    if request.in_place:
        return snapshot.of_request(request, runs_folder)
    return snapshot.recorded(run.path / "source", record)
