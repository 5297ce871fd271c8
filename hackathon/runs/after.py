"""What a run waits for: another run, named in `client/after.json` from the moment the run is made.

So the dependency survives a submission that was cut off, and `status` can say why a run never started.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hackathon.runs.directory import RunDirectory
from hackathon.runs.markers import Markers, read_final, read_markers
from hackathon.runs.states import CANCELLED, ENDED, FAILED, SUCCEEDED
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import localized, message

if TYPE_CHECKING:
    from hackathon.runs.states import RunStatus

FACT = "after"
FINDINGS = "preflight.json"
"""What the recipe `preflight` leaves in its run."""


def waits_for(run_id: str, *, condition: str = "ok", about: str = "preflight") -> dict[str, Any]:
    """Return the fact `client/after.json`: start only after that run of the same folder succeeded (`ok`) or ended."""
    return {"run": run_id, "condition": condition, "about": about}


def dependency(run: RunDirectory) -> tuple[str, str] | None:
    """Return (`ok` or `any`, job id) that a run has to wait for; None when it waits for nothing, or has waited enough.

    Raises RequestError when the other run has no job yet, or has surely failed.
    """
    other, condition = _other(run), str(run.client(FACT).get("condition", "ok"))
    if other is None:
        return None
    final = read_final(other)
    if final is not None:  # schedulers forget jobs: only the run's folder knows this one for sure
        if condition == "ok" and final["state"] != SUCCEEDED:
            raise RequestError("preflight.was_bad", run=run.id, other=other.id, what=finding(other) or final["state"])
        return None
    job_id = other.job_id()
    if job_id is None:
        raise RequestError("preflight.no_job", run=run.id, other=other.id)
    return condition, job_id


def waited_for(run: RunDirectory) -> RunDirectory:
    """Return the run that a run waits for; itself when it waits for none."""
    return _other(run) or run


def just_released(run: RunDirectory, markers: Markers) -> float | None:
    """Return when the run that a run waits for ended: from then on the scheduler's older answers say nothing."""
    other = _other(run) if markers.after and markers.started is None else None
    return None if other is None else read_markers(other).ended


def explained(run: RunDirectory, markers: Markers, found: "RunStatus", *, write: bool = True) -> "RunStatus":
    """Return the status with a failed preflight's finding: its own status, or that of a run that waited for it.

    With `write=False` the other run's folder tells alone, and nothing is written there.

    Schedulers say CANCELLED, or a job that never started, or one that can never run; here all of them are a run that
    was not started because the one before it did not succeed.
    """
    if found.state == FAILED and found.cause == "exit":
        told = finding(run)
        return replace(found, reason=told, first_rank=None) if told else found
    began = markers.started is not None or markers.claimed
    if not markers.after or began or markers.cancelled is not None:
        return found
    if found.cause not in ("cancelled", "never_started", "never_runs"):
        return found
    other = _other(run)
    if other is None or (state := _state(other, write)) == SUCCEEDED or state not in ENDED:
        return found
    reason = message("preflight.of", run=other.id[-8:], what=finding(other) or state)
    return replace(found, state=found.state if found.open else CANCELLED, cause="preflight_failed", reason=reason)


def finding(run: RunDirectory) -> str:
    """Return what a preflight found wrong, in the current language; empty when there is nothing."""
    value = read_json(run.path / FINDINGS)
    findings = value.get("findings") if isinstance(value, dict) else None
    bad = [each for each in findings or () if isinstance(each, dict) and each.get("state") == "failed"]
    texts = [f"{localized(each.get('title'))}: {localized(each.get('text'))}" for each in bad]
    return texts[0] + (message("preflight.and_more", count=len(texts) - 1) if len(texts) > 1 else "") if texts else ""


def _other(run: RunDirectory) -> RunDirectory | None:
    name = run.client(FACT).get("run")
    return RunDirectory(run.path.parent / str(name)) if name else None


def _state(other: RunDirectory, write: bool) -> str:
    """Return the other run's state: by its folder, and by the scheduler when the folder does not tell an end."""
    from hackathon.runs.status import status

    state = status([other], ask=False, write=write)[0].state
    return state if state in ENDED or not write else status([other])[0].state
