"""What a run waits for: another run, named in `client/after.json`, or a job, in `client/waits.json`.

Both files are written when the run is created. So the dependency survives an interrupted submission, and `status` can
explain why a run never started.
"""

from typing import Any

from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.markers import read_final
from hackathon.runs.states import SUCCEEDED
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import _, localized

FACT = "after"
JOB = "waits"
"""The job that `submit --after` named; `submit --again` waits for it as well."""
FINDINGS = "preflight.json"
"""File that the recipe `preflight` writes in its run."""


def waits_for(run_id: str) -> dict[str, Any]:
    """Return the fact `client/after.json`: start only after that run of the same folder, a preflight, succeeded."""
    return {"run": run_id, "condition": "ok", "about": "preflight"}


def waits_for_job(condition: str, job_id: str) -> dict[str, Any]:
    """Return the fact `client/waits.json`: start after a job succeeded (`ok`) or ended (`any`)."""
    return {"condition": condition, "job_id": job_id}


def dependency(run: RunDirectory) -> tuple[str, str] | None:
    """Return (`ok` or `any`, job id) that a run has to wait for; None without a dependency or after its end.

    Raises RequestError when the other run has no job yet, or has certainly failed.
    """
    other, condition = other_run(run), str(run.client(FACT).get("condition", "ok"))
    if other is None:
        return _named_job(run)
    final = read_final(other)
    if final is not None:  # schedulers forget jobs, so only the run's folder is reliable
        if condition == "ok" and final["state"] != SUCCEEDED:
            raise RequestError(
                "preflight.was_bad",
                "run {run} waits for the preflight {other}, which did not succeed: {what}",
                hint="fix the problem and submit a new run; this one never starts",
                run=run.id,
                other=other.id,
                what=finding(other) or final["state"],
            )
        return None
    job_id = other.job_id()
    if job_id is None:
        raise RequestError(
            "preflight.no_job",
            "run {run} waits for run {other}, which has no job yet",
            hint="submit that run first: `hackathon submit --again RUN`",
            run=run.id,
            other=other.id,
        )
    return condition, job_id


def _named_job(run: RunDirectory) -> tuple[str, str] | None:
    """Return the job that `submit --after` named; None if its run is known to have ended as required."""
    condition, job_id = (str(run.client(JOB).get(name) or "") for name in ("condition", "job_id"))
    if not (condition and job_id):
        return None
    cluster = run.record().cluster
    for other in find_runs(run.path.parent):
        if other.job_id() == job_id and other.known().cluster == cluster:
            final = read_final(other)
            if final is not None and (condition == "any" or final["state"] == SUCCEEDED):
                return None  # the scheduler may have forgotten the job; its other refusals are errors of the submission
    return condition, job_id


def other_run(run: RunDirectory) -> RunDirectory | None:
    """Return the run that a run waits for, None when it waits for none."""
    name = run.client(FACT).get("run")
    return RunDirectory(run.path.parent / str(name)) if name else None


def waited_for(run: RunDirectory) -> RunDirectory:
    """Return the run that a run waits for; itself when it waits for none."""
    return other_run(run) or run


def finding(run: RunDirectory) -> str:
    """Return the problem that a preflight detected, in the current language; empty without one."""
    value = read_json(run.path / FINDINGS)
    findings = value.get("findings") if isinstance(value, dict) else None
    bad = [finding for finding in findings or () if isinstance(finding, dict) and finding.get("state") == "failed"]
    texts = [f"{localized(finding.get('title'))}: {localized(finding.get('text'))}" for finding in bad]
    return texts[0] + (_(" (and {count} more)", count=len(texts) - 1) if len(texts) > 1 else "") if texts else ""
