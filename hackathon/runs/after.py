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
    run: RunDirectory, markers: Markers, found: "RunStatus", state_of: Callable[[RunDirectory], str]
) -> "RunStatus":
    """Return the status with a failed preflight's finding: its own status, or that of a run that waited for it.

    `state_of` tells the state of the other run. Schedulers say CANCELLED, or a job that never started, or one that can
    never run; here all of them are a run that was not started because the one before it did not succeed.
    """
    if found.state == FAILED and found.cause == "exit":
        told = finding(run)
        return replace(found, reason=told, first_rank=None) if told else found
    began = markers.started is not None or markers.claimed
    if not markers.after or began or markers.cancelled is not None:
        return found
    if found.cause not in ("cancelled", "never_started", "never_runs"):
        return found
    other = other_run(run)
    if other is None or (state := state_of(other)) == SUCCEEDED or state not in ENDED:
        return found
    reason = message("preflight.of", run=other.id[-8:], what=finding(other) or state)
    return replace(found, state=found.state if found.open else CANCELLED, cause="preflight_failed", reason=reason)
