"""Repeat a run: its recorded script and source, in a new run."""

from collections.abc import Sequence
from pathlib import Path

from hackathon.jobs.script import LIBRARY, JobScript
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
    request = run.request()
    runs_folder = run.path.parent if runs_folder is None else runs_folder
    source = source_of(run, runs_folder)
    return create(
        request,
        _scripts(run),
        runs_folder=runs_folder,
        note=note or run.note,
        tags=tags or run.tags,
        parent=run.id,
        source=source,
    )


def _scripts(run: RunDirectory) -> JobScript:
    """Return the recorded scripts. Raises RequestError for one that is gone."""
    job, rank = _script(run, "job.sh"), _script(run, "rank.sh")
    # the job.sh of a run of a former version reads no library
    reads_library = f". ./{LIBRARY}" in job.splitlines() or (run.path / LIBRARY).exists()
    return JobScript(job, rank, _script(run, LIBRARY) if reads_library else "")


def _script(run: RunDirectory, name: str) -> str:
    try:
        return (run.path / name).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        what = f"{name}: {error.strerror or error}"
        raise RequestError(
            "runs.rerun_no_script", "the script of run {run} cannot be read: {what}", run=run.id, what=what
        ) from error


def source_of(run: RunDirectory, runs_folder: Path) -> snapshot.Source:
    """Return the program of an earlier run: its copy, or the live folder again. Raises RequestError without one."""
    record = read_json(run.path / "source.json")
    if run.client("adopted") or not isinstance(record, dict):
        raise RequestError(
            "runs.rerun_no_source", "the source of run {run} was not recorded, so it cannot be run again", run=run.id
        )
    request = run.request()
    if request.in_place:
        return snapshot.of_request(request, runs_folder)
    return snapshot.recorded(run.path / "source", record)
