"""Why a run that waits for another one was not started: the status of the run in the words of the other's failure."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hackathon.runs.dependency import finding, other_run
from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import Markers, read_markers
from hackathon.runs.states import CANCELLED, ENDED, FAILED, SUCCEEDED
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.runs.states import RunStatus


def just_released(run: RunDirectory, markers: Markers) -> float | None:
    """Return when the run that a run waits for ended: from then on the scheduler's older answers say nothing."""
    other = other_run(run) if markers.after and markers.started is None else None
    return None if other is None else read_markers(other).ended


def explained(
    run: RunDirectory, markers: Markers, status: "RunStatus", state_of: Callable[[RunDirectory], str]
) -> "RunStatus":
    """Return the status with a failed preflight's finding: its own status, or that of a run that waited for it.

    `state_of` tells the state of the other run. Schedulers say CANCELLED, or a job that never started, or one that can
    never run; here all of them are a run that was not started because the one before it did not succeed.
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
    reason = message("preflight.of", run=other.id[-8:], what=finding(other) or state)
    return replace(status, state=status.state if status.open else CANCELLED, cause="preflight_failed", reason=reason)
