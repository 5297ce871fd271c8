"""End a run's job."""

import contextlib
import time

from hackathon.runs import provenance
from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import read_final, read_markers
from hackathon.runs.status import scheduler_of
from hackathon.runs.submit import recover
from hackathon.schedulers.base import Scheduler, SchedulerError
from hackathon.text.errors import RequestError, UnavailableError


def cancel(run: RunDirectory, scheduler: Scheduler | None = None) -> bool:
    """Tell a run's job to end, also one that still waits in the queue; return False when it had ended already.

    That its owner wanted this is written down first (`client/cancelled.json`), so that a job which ends before the
    scheduler's answer arrives counts as cancelled. A run whose submission's end is unknown is looked for by name.
    Raises RequestError: never submitted, its job not found, started by hand; SchedulerError as the scheduler has it.
    """
    markers = read_markers(run)
    if read_final(run) is not None or markers.ended is not None:
        return False
    if markers.by_hand:
        raise RequestError("runs.cancel_by_hand", run=run.id, host=markers.host or "?")
    from hackathon.schedulers import registry, runner

    name, cluster = scheduler_of(run)
    scheduler = scheduler or registry.load(name)
    job_id = markers.job_id
    if job_id is None:
        if markers.submitting is None or markers.refused is not None:
            raise RequestError("runs.cancel_not_submitted", run=run.id)
        job_id = recover(run, scheduler)
    if job_id is None:
        raise RequestError("runs.cancel_uncertain", run=run.id, name=run.job_name)
    before = run.client("cancelled")
    try:
        run.write_client("cancelled", {"t": time.time(), "by": provenance.user()})
    except PermissionError:  # a tutor may end a job; only its owner writes in the directory
        pass
    except OSError as error:
        raise UnavailableError("runs.not_written", folder=run.path, what=error.strerror or error) from error
    told = True  # after a time-out too: the command may have arrived
    try:
        told = runner.cancel(scheduler, job_id)
    except SchedulerError as error:
        told = error.id == "schedulers.timeout"
        raise
    finally:
        if not told and not before:
            with contextlib.suppress(OSError):
                (run.path / "client" / "cancelled.json").unlink(missing_ok=True)
    runner.forget(scheduler, cluster, [job_id])
    return told
