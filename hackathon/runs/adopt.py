"""Adopt a job that was submitted by hand, so that status, logs and results work for it."""

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.access.guarded_path import GuardedPath
from hackathon.jobs.request import Request
from hackathon.jobs.script import JobScript
from hackathon.runs import job_owner
from hackathon.runs.create import JOB_FOLDERS, create
from hackathon.runs.directory import BY_HAND, RunDirectory, find_runs
from hackathon.runs.source import provenance
from hackathon.runs.source.snapshot import Source
from hackathon.schedulers import runner
from hackathon.schedulers.base import JobState, Scheduler
from hackathon.schedulers.reports import JobDetails
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.files import LARGEST
from hackathon.text.printable import printable

_SCRIPT_LIMIT = 1_000_000


def adopt(
    target: str,
    scheduler: Scheduler,
    *,
    cluster: str,
    runs_folder: Path,
    processes: int | None = None,
    note: str = "",
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    metric: str | None = None,
) -> RunDirectory:
    """Return a new run for a job, given by its id or by the folder that it was submitted from.

    If a rendered `job.sh` was submitted from the folder, the run uses its events, logs and metrics (by links) and its
    `request.json`. In a folder of `render --to`, the newest job that is not adopted yet is taken. In any other folder,
    the newest output file (`Scheduler.output_names`) gives the job id. The scheduler's record gives the request and the
    log; both reports are stored in `client/adopted.json`. `processes`: default: the scheduler's; 0 in the request when
    unknown. Raises RequestError: the scheduler does not know the job, it is adopted already, the folder has no job, or
    the job belongs to somebody other than the user (for a folder: than the folder's owner).
    """
    folder = _folder_of_job(Path(target).absolute(), runs_folder, scheduler) if Path(target).is_dir() else None
    job_id, output = (target, None) if folder is None else _job_of(folder, scheduler)
    if folder is not None and job_id is None:
        raise RequestError(
            "runs.adopt_no_job",
            "no trace of a job in {folder}: no claim, slurm-ID.out, or NAME.oID",
            hint="give the job id instead",
            folder=folder,
        )
    assert job_id is not None
    _refuse_twice(job_id, runs_folder, scheduler)
    job = _ask(scheduler, job_id, must_know=folder is None)
    # use the scheduler's form of the id, so that one job has one id in all records
    job_id = (job.id if job else "") or job_id
    _refuse_twice(job_id, runs_folder, scheduler)
    _require_own(job_id, job, os.geteuid() if folder is None else folder.stat().st_uid)
    details = JobDetails() if job is None else runner.details(scheduler, job_id)
    request = folder and recorded(folder)
    if not request:
        request = _request_by_hand(job, details, folder, processes, cluster, scheduler.name)
    output = _output(details, folder) or output
    source = folder or (output and output.parent)
    request = replace(
        request,
        cluster=cluster,
        scheduler=scheduler.name,
        dialect=asdict(scheduler.dialect),
        processes=processes or request.processes,
        metric=metric or request.metric,
        metrics={**request.metrics, **{name: dict(entry) for name, entry in (metrics or {}).items()}},
        source=str(source or ""),
        in_place=True,
    )
    fact = {
        "t": job.start if job and job.start else time.time(),
        "by": provenance.user(),
        "job_id": job_id,
        "scheduler": scheduler.name,
        "cluster": cluster,
        "directory": str(source) if source else None,
        "job": asdict(job) if job else None,
        "details": asdict(details),
    }
    run = create(
        request,
        JobScript(_script(folder, scheduler), ""),
        runs_folder=runs_folder,
        note=note,
        source=Source(folder or Path(), in_place=True),
        facts={"adopted": fact},
    )
    if source is not None:
        _link(run, source, output, () if folder is None else (*JOB_FOLDERS, "claim"))
    return run


def recorded(folder: Path) -> Request | None:
    """Return the request stored in a job's folder; None without one, or with one that this toolkit did not write."""
    from hackathon.jobs.validate_record import wrong_field

    value = GuardedFolder(folder, owners=_owners(folder)).json("request.json", LARGEST, "surrogateescape")
    try:
        request = Request.from_json(value)
    except (TypeError, RequestError):
        return None
    return request if wrong_field(request) is None else None


def _request_by_hand(
    job: JobState | None, details: JobDetails, folder: Path | None, processes: int | None, cluster: str, scheduler: str
) -> Request:
    """Return the request of a job without records, as the scheduler recorded it; 0 and None for unknown values."""
    nodes = details.nodes or len(job.hosts if job else ())
    total = processes or details.processes or 0
    return Request(
        name=(job.name if job and job.name else "") or (folder.name if folder else "") or "adopted",
        recipe=None,
        framework=None,
        cluster=cluster,
        scheduler=scheduler,
        queue=details.queue or None,
        group=details.group or None,
        reservation=None,
        qos=details.qos or None,
        nodes=nodes,
        processes=total,
        processes_per_node=total // nodes if nodes and total % nodes == 0 else 0,
        threads=details.threads or 0,
        gpus_per_node=details.gpus_per_node or 0,
        memory=details.memory,
        walltime=details.walltime or 0,
        launcher="",
        starter="",
        mpi="",
        command=(),
    )


def _output(details: JobDetails, folder: Path | None) -> Path | None:
    """Return the file of the job's output by the scheduler's record; None if it is unknown.

    A job that waits has no file yet. With a job's folder only a file in it counts: a run's links lead to one folder.
    """
    path = Path(details.output or "")
    if not path.is_absolute() or not path.parent.is_dir() or not (path.is_file() or not path.exists()):
        return None
    if folder is None:
        return path
    inside, top = path.parent.resolve(), Path(folder).resolve()
    return Path(folder) / inside.relative_to(top) / path.name if inside.is_relative_to(top) else None


def _folder_of_job(folder: Path, runs_folder: Path, scheduler: Scheduler) -> GuardedPath:
    """Return the folder itself, or its subfolder of the newest job, preferably one that is not adopted yet."""
    guarded = _guarded(folder)
    if not (folder / "jobs").is_dir() or not (guarded / "rank.sh").is_file():
        return guarded
    claims = [(path.stat().st_mtime, path) for path in guarded.glob("jobs/*/claim/job_id") if path.is_file()]
    newest = [path for _, path in sorted(claims, key=lambda claim: claim[0], reverse=True)]
    if not newest:
        raise RequestError(
            "runs.adopt_no_job",
            "no trace of a job in {folder}: no claim, slurm-ID.out, or NAME.oID",
            hint="give the job id instead",
            folder=folder,
        )
    new = (path for path in newest if not _adopted_as(_line(path), runs_folder, scheduler))
    return _guarded(Path(str(next(new, newest[0]).parent.parent)))


def _line(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip()


def _owners(folder: Path) -> frozenset[int]:
    return frozenset({os.geteuid(), folder.stat().st_uid})


def _guarded(folder: Path) -> GuardedPath:
    """Return a job's folder; only files of its owner or of the adopting user are read in it."""
    return GuardedPath(folder, folder=GuardedFolder(folder, owners=_owners(folder)))


def _ask(scheduler: Scheduler, job_id: str, *, must_know: bool) -> JobState | None:
    """Return the scheduler's report on the job; None for a job that it has forgotten."""
    if job_id.startswith(BY_HAND):
        return None  # the job was started without a scheduler
    if not scheduler.is_id(job_id):
        raise RequestError(
            "schedulers.not_an_id",
            "{job_id!r} is not a job ID of the scheduler {scheduler}, so no command is run with it.",
            hint="The ID was read from the run's files (claim/job_id or client/*.json). Check it, or see the queue "
            "for the job.",
            job_id=printable(job_id),
            scheduler=scheduler.name,
        )
    job = runner.status(scheduler, [job_id]).jobs.get(job_id)
    if job is None and must_know:
        raise RequestError(
            "runs.adopt_unknown",
            "the scheduler does not know job {job_id}",
            hint="if it finished long ago, adopt the folder with its output instead",
            job_id=job_id,
        )
    return job


def _require_own(job_id: str, job: JobState | None, uid: int) -> None:
    """Raise RequestError for a job that belongs to another account, when the scheduler names its owner."""
    if job is not None and job_owner.belongs(job, uid) is False:
        user, account = job_owner.shown_owner(job), job_owner.account_name(uid)
        raise RequestError(
            "runs.adopt_other_owner",
            "job {job_id} belongs to {user}, not to {account}",
            hint="Only the owner of a job can adopt it.",
            job_id=job_id,
            user=user,
            account=account,
        )


def _job_of(folder: Path, scheduler: Scheduler) -> tuple[str | None, Path | None]:
    """Return a folder's job id, from its claim or its newest output file, and that output file."""
    claim = folder / "claim" / "job_id"
    outputs = [
        (path.stat().st_mtime, match[1], path)
        for path in folder.iterdir()
        for pattern in scheduler.output_names
        if (match := pattern.match(path.name)) and path.is_file()
    ]
    _, newest, output = max(outputs, default=(0.0, None, None))
    with contextlib.suppress(OSError):
        return _line(claim) or newest, output
    return newest, output


def _refuse_twice(job_id: str, runs_folder: Path, scheduler: Scheduler) -> None:
    if run := _adopted_as(job_id, runs_folder, scheduler):
        raise RequestError(
            "runs.adopted_already", "job {job_id} is already adopted as run {run}", job_id=job_id, run=run
        )


def _adopted_as(job_id: str, runs_folder: Path, scheduler: Scheduler) -> str | None:
    """Return the id of the run that adopted a job."""
    for run in find_runs(runs_folder):
        if not (run.path / "client" / "adopted.json").exists():
            continue
        adopted_id = run.client("adopted").get("job_id")
        if isinstance(adopted_id, str) and scheduler.same_job(adopted_id, job_id):
            return run.id
    return None


def _script(folder: Path | None, scheduler: Scheduler) -> str:
    """Return the text of the folder's job script, `job.sh` first; a comment when there is none."""
    endings = scheduler.script_endings
    scripts = [] if folder is None else sorted(path for path in folder.iterdir() if path.suffix in endings)
    for path in sorted(scripts, key=lambda path: path.name != "job.sh"):
        with contextlib.suppress(OSError):
            if path.stat().st_size <= _SCRIPT_LIMIT:
                return path.read_bytes().decode("utf-8", "surrogateescape")
    return "# This job was submitted by hand; its script is not known.\n"


def _link(run: RunDirectory, folder: Path, output: Path | None, names: tuple[str, ...]) -> None:
    """Link the job's folders of these names, and its log, into the run."""
    try:
        for name in names:
            link = run.path / name
            if (folder / name).is_dir() and (name != "claim" or (folder / name / "job_id").is_file()):
                if link.is_dir():
                    link.rmdir()
                link.symlink_to(folder / name)
        if output is not None and not (run.path / "logs").is_symlink():
            (run.path / "logs" / "job.log").symlink_to(output)
    except OSError as error:
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=run.path,
            what=error.strerror or error,
        ) from error
