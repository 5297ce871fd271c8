"""Cancel a run's job."""

import contextlib
import time
from typing import Any

from hackathon.runs import job_owner
from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import read_final, read_markers
from hackathon.runs.source import provenance
from hackathon.runs.status import load_scheduler, scheduler_of
from hackathon.runs.submit import recover
from hackathon.schedulers.base import HELD, QUEUED, RUNNING, JobState, Scheduler, SchedulerError
from hackathon.text.errors import RequestError, UnavailableError
from hackathon.text.messages import Message
from hackathon.text.printable import printable

_CANCEL_TEXTS = {
    "other_owner": Message(
        "runs.cancel_other_owner",
        "run {run} names job {job_id}, which belongs to {user}; the run belongs to {account}. The job was not "
        "cancelled",
        hint="The run's files name somebody else's job. Ask {account} about it.",
    ),
    "other_run": Message(
        "runs.cancel_other_run",
        "run {run} names job {job_id}, which is the job {name} of another run. The job was not cancelled",
        hint="Cancel the run that job {name} belongs to. The last eight characters of its ID are those of the job's "
        "name.",
    ),
    "renamed": Message(
        "runs.cancel_renamed",
        "job {job_id} of run {run} is named {name}. The toolkit gave it another name",
        hint="If this is the job to cancel, type `hackathon cancel {run!q} --yes`.",
    ),
    "untold": Message(
        "runs.cancel_untold",
        "the scheduler does not say whether job {job_id} belongs to run {run} of {account}",
        hint="Look the job up in the queue. If it is the right one, type `hackathon cancel {run!q} --yes`.",
    ),
}

NOT_SURE = frozenset({"runs.cancel_untold", "runs.cancel_renamed"})
"""Errors of `cancel` after which the user can confirm that the job is the right one."""


def cancel(run: RunDirectory, scheduler: Scheduler | None = None, *, sure: bool = False) -> bool:
    """Request the cancellation of a run's job, queued or running; return False when it has finished already.

    The request is stored first (`client/cancelled.json`), so that a job that ends before the scheduler answers counts
    as cancelled. If it is unclear whether the run was submitted, its job is searched by name. The scheduler is asked
    for the job's owner and name (`job_owner`), because only the run's files give its id. Raises RequestError: never
    submitted, job not found, started by hand, another's job, or, without `sure`, a job about which the scheduler
    reports too little; and the SchedulerError of the scheduler.
    """
    markers = read_markers(run)
    if read_final(run) is not None or (markers.ended is not None and markers.exit_code == 0):
        return False
    if markers.by_hand:
        raise RequestError(
            "runs.cancel_by_hand",
            "run {run} was started by hand on {host}, outside any scheduler; stop it there",
            run=run.id,
            host=markers.host or "?",
        )
    from hackathon.schedulers import runner

    _, cluster = scheduler_of(run)
    scheduler = scheduler or load_scheduler(run)
    job_id = markers.job_id
    if job_id is None:
        if markers.submitting is None or markers.refused is not None:
            raise RequestError("runs.cancel_not_submitted", "run {run} was never submitted", run=run.id)
        job_id = recover(run, scheduler)
    if job_id is None:
        raise RequestError(
            "runs.cancel_uncertain",
            "no job named {name} is found, so there is nothing to cancel for run {run}",
            run=run.id,
            name=run.job_name,
        )
    job = runner.status(scheduler, [job_id]).jobs.get(job_id)
    if markers.ended is not None and not _again(job, markers.ended):
        return False
    _require_own(run, job_id, job, sure=sure)
    before = run.client("cancelled")
    try:
        run.write_client("cancelled", {"t": time.time(), "by": provenance.user()})
    except PermissionError:  # a tutor may cancel a job, but only its owner writes in the directory
        pass
    except OSError as error:
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=run.path,
            what=error.strerror or error,
        ) from error
    arrived = True  # also after a time-out: the command may have arrived
    try:
        arrived = runner.cancel(scheduler, job_id)
    except SchedulerError as error:
        arrived = error.id == "schedulers.timeout"
        raise
    finally:
        if not arrived and not before:
            with contextlib.suppress(OSError):
                (run.path / "client" / "cancelled.json").unlink(missing_ok=True)
    runner.forget(scheduler, cluster, [job_id])
    return arrived


def _again(job: JobState | None, ended: float) -> bool:
    """Return whether a job is queued or running again after its script ended (seconds since 1970): a requeue."""
    if job is None:
        return False
    return job.state in (QUEUED, HELD) or (job.state == RUNNING and job.start is not None and job.start > ended)


def _require_own(run: RunDirectory, job_id: str, job: JobState | None, *, sure: bool) -> None:
    """Raise RequestError for a job that is not the run's own, or, without `sure`, possibly not."""
    whose = job_owner.UNTOLD if job is None else job_owner.whose(run, job)
    if whose == job_owner.UNTOLD and run.owned():
        return  # the user's own files name the job, and the scheduler refuses to cancel other users' jobs
    values: dict[str, Any] = {
        "run": run.id,
        "job_id": job_id,
        "account": job_owner.account_name(run.path.stat().st_uid),
    }
    if job is not None:
        values |= {"name": printable(job.name), "user": job_owner.shown_owner(job)}
    if whose in job_owner.FOREIGN:
        raise RequestError(_CANCEL_TEXTS[whose], **values)
    if whose != job_owner.OWN and not sure:
        raise RequestError(_CANCEL_TEXTS[whose], **values)
