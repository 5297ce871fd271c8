"""Do a run again: the recorded script and the recorded source, in a new run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs import snapshot
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.provenance import differences
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json

if TYPE_CHECKING:
    from hackathon.jobs.render import JobScript
    from hackathon.jobs.request import Request

__all__ = ["differences", "rerun", "rerun_moved", "source_of"]


def rerun(
    run: RunDirectory, *, runs_folder: Path | None = None, note: str = "", tags: Sequence[str] = ()
) -> RunDirectory:
    """Return a new run, not yet submitted, of the very bytes that an earlier run recorded; its `parent` is that run.

    The source is the earlier run's copy: the recorded files as they lie there now, nothing that the job added. An
    in-place run takes the live folder again. `differences` says beforehand what is not as it was. The new run is no
    point of the study. Raises RequestError when the script or a recorded file is gone, and as `create` does.
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
    """Return the program of an earlier run: its copy, or the live folder again. Raises RequestError: none recorded."""
    record = read_json(run.path / "source.json")
    if run.client("adopted") or not isinstance(record, dict):
        raise RequestError("runs.rerun_no_source", run=run.id)
    request = run.request()
    if request.in_place:
        return snapshot.take(Path(request.source), runs_folder=runs_folder, in_place=True)
    return snapshot.recorded(run.path / "source", record)


def rerun_moved(
    request: "Request",
    script: "JobScript",
    source: snapshot.Source,
    *,
    runs_folder: Path,
    parent: str,
    origin: dict[str, Any],
    note: str = "",
    tags: Sequence[str] = (),
) -> RunDirectory:
    """Return a new run, not yet submitted, of an earlier run's program with another request.

    `parent` is the earlier run; `origin` says where it came from (`client/origin.json`). Raises as `create`.
    """
    return create(
        request,
        script,
        runs_folder=runs_folder,
        note=note,
        tags=tags,
        parent=parent,
        source=source,
        facts={"origin": origin},
    )
