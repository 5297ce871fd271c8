"""Explain a run that was not started because the run before it failed."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.runs.dependency import JOB, finding, other_run
from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import Markers, read_markers
from hackathon.runs.states import CANCELLED, ENDED, FAILED, SUCCEEDED
from hackathon.text.messages import _
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.runs.states import RunStatus


def just_released(run: RunDirectory, markers: Markers) -> float | None:
    """Return when the run that this one waits for ended; older answers of the scheduler are then out of date."""
    other = other_run(run) if markers.after and markers.started is None else None
    return None if other is None else read_markers(other).ended


def with_name(run: RunDirectory, status: "RunStatus", run_of: Callable[[str], str]) -> "RunStatus":
    """Return the status of a held run with the run, else the job, that it waits for.

    `run_of` returns the id of a job's run in the same folder, empty without one.
    """
    other, job = other_run(run), str(run.client(JOB).get("job_id") or "")
    run_id = other.id if other is not None else run_of(job) if job else ""
    if not run_id and not job:
        return status
    what = _("run {run}", run=run_id[-8:]) if run_id else _("job {job}", job=printable(job))
    return replace(status, reason=_("waiting for {other}", other=what))


def explained(
    run: RunDirectory, markers: Markers, status: "RunStatus", state_of: Callable[[RunDirectory], str]
) -> "RunStatus":
    """Return the status with a failed preflight's finding: for the preflight itself or a run that waited for it.

    `state_of` returns the state of the other run. Schedulers report such a run as CANCELLED, never started, or unable
    to start; all of them mean here that the run before it did not succeed.
    """
    if status.state == FAILED and status.cause == "exit":
        text = finding(run)
        return replace(status, reason=text, first_rank=None) if text else status
    began = markers.started is not None or markers.claimed
    if not markers.after or began or markers.cancelled is not None:
        return status
    if status.cause not in ("cancelled", "never_started", "never_runs"):
        return status
    other = other_run(run)
    if other is None or (state := state_of(other)) == SUCCEEDED or state not in ENDED:
        return status
    reason = _("preflight {run} failed: {what}", run=other.id[-8:], what=finding(other) or state)
    return replace(status, state=status.state if status.open else CANCELLED, cause="preflight_failed", reason=reason)
