"""Submit a run to the scheduler exactly once, even if this process is interrupted.

One fact is written before the scheduler's command and another one after it. Between the two it is unclear whether the
job is in the queue: then it is searched by name, and only submitted again when its owner asks for it.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hackathon.access.publish import publish_path
from hackathon.runs import job_owner
from hackathon.runs.dependency import dependency
from hackathon.runs.directory import RunDirectory, file_mode, is_refused, submitting_name
from hackathon.schedulers.base import Submission
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.files import write_whole
from hackathon.text.kill_points import step
from hackathon.text.messages import Message
from hackathon.text.uptime import age as age_of
from hackathon.text.uptime import lives, this_process

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler

_NO_AFTER_TEXTS = {
    "ok": Message("runs.no_after_ok", "{scheduler} cannot start a job only after another one has succeeded"),
    "any": Message("runs.no_after_any", "{scheduler} cannot start a job only after another one has ended"),
}

SETTLE = 35.0
"""Seconds after which the submission of a dead process can no longer reach the scheduler.

By then a command that outlived its parent has ended (the runner's time limit, and 3 s), and the scheduler lists the
job.
"""
# The command may have succeeded although its answer was discarded.
_NO_ANSWER = frozenset({"schedulers.too_much_output", "schedulers.timeout", "schedulers.garbage"})


@dataclass(frozen=True)
class Outcome:
    """The result for one run of `submit_many`: a job id or an error."""

    run: RunDirectory
    job_id: str | None = None
    error: HackathonError | None = None


class Outcomes(list[Outcome]):
    """The results for several runs, in order; `error`: why no further run could be created."""

    error: HackathonError | None = None

    @property
    def failure(self) -> HackathonError | None:
        """The first error, None without one."""
        return next((outcome.error for outcome in self if outcome.error is not None), self.error)


def submit(
    run: RunDirectory, scheduler: "Scheduler", *, again: bool = False, after: tuple[str, str] | None = None
) -> str:
    """Submit a run and return its job id.

    `after`: (`ok` or `any`, job id) that it waits for; default: the dependency in the run's `client/`. Raises
    RequestError: it is submitted already, another process is submitting it, or it is unclear whether an earlier
    submission succeeded and `again` is False. With `again` the job is searched by name first and adopted if it exists.
    Raises the runner's SchedulerError: after a refusal, stored in `client/refused.json`, the run may be submitted
    again; otherwise its state is UNCERTAIN.
    """
    attempt, known_id = _may_submit(run, scheduler, again)
    if known_id is not None:
        return known_id
    from hackathon.schedulers import runner

    waits = after or dependency(run)
    if waits is not None:
        require_after(scheduler, waits[0])

    from hackathon.jobs.render import header

    head = header(run.request())
    submission = Submission(
        script=run.path / "job.sh",
        directory=run.path,
        name=run.job_name,
        output=run.path / "logs" / "scheduler.log",
        after=waits,
        options=tuple(scheduler.dialect.command_options(head)),
    )
    _write_files(run, scheduler.files(submission, head), scheduler.name)
    fact = {"t": time.time(), "name": run.job_name, "argv": scheduler.submit_argv(submission)}
    _announce(run, attempt, {**fact, "limit": runner.patience()})
    step("after-submitting")
    try:
        job_id = runner.submit(scheduler, submission)
    except HackathonError as error:
        refused = not getattr(error, "transient", True) and error.id not in _NO_ANSWER
        if refused or getattr(error, "no_job", False):
            with contextlib.suppress(OSError):  # if the disk is full the run stays UNCERTAIN, which is also true
                run.write_client("refused", {"t": time.time(), "attempt": attempt, "message": str(error)})
            step("after-refused")
        raise
    step("after-scheduler")
    _record(run, "submitted", job_id, scheduler)
    step("after-submitted")
    return job_id


def recover(run: RunDirectory, scheduler: "Scheduler") -> str | None:
    """Return the id of a job after an interrupted submission, searched by name; None without one (UNCERTAIN).

    A job of the user's own run is stored in `client/recovered.json`. Raises SchedulerError when the scheduler does not
    answer.
    """
    job_id = run.job_id()
    if job_id is not None:
        return job_id
    from hackathon.schedulers import runner

    job_ids = _own_jobs(run, scheduler, runner.find(scheduler, run.job_name))
    if not job_ids:
        return None
    if run.owned():
        _record(run, "recovered", job_ids[-1], scheduler)
        step("after-recovered")
    return job_ids[-1]


def _own_jobs(run: RunDirectory, scheduler: "Scheduler", job_ids: list[str]) -> list[str]:
    """Return the jobs with the run's name, without those of other accounts: anybody may use that name."""
    from hackathon.schedulers import runner

    jobs = runner.status(scheduler, job_ids).jobs if job_ids else {}
    strange = {job_id for job_id, job in jobs.items() if job_owner.whose(run, job) == job_owner.OTHER_OWNER}
    return [job_id for job_id in job_ids if job_id not in strange]


def submit_many(
    runs: Iterable[RunDirectory],
    scheduler: "Scheduler",
    *,
    workers: int = 4,
    after: tuple[str, str] | None = None,
) -> Outcomes:
    """Submit runs, a few at a time, and return their outcomes in order.

    Each run has the guarantees of `submit`; all wait for `after`. `runs` may be a generator: it creates the next run
    while the scheduler accepts the one before. If it fails (a full disk), the earlier runs are submitted and `error`
    has the reason. After the first failure no further run is started, because the scheduler would refuse all of them
    alike; those runs are returned without a job id and without an error.
    """
    import itertools

    outcomes = Outcomes()

    def made() -> Iterator[RunDirectory]:
        try:
            yield from runs
        except HackathonError as error:
            outcomes.error = error

    first = list(itertools.islice(runs_left := made(), 2))
    if len(first) < 2 or workers < 2:
        outcomes += _one_by_one(itertools.chain(first, runs_left), scheduler, after)
        return outcomes
    import threading
    from concurrent.futures import ThreadPoolExecutor

    failed = threading.Event()

    def one(run: RunDirectory) -> Outcome:
        if failed.is_set():
            return Outcome(run)
        outcome = _try(run, scheduler, after)
        if outcome.error is not None:
            failed.set()
        return outcome

    with ThreadPoolExecutor(workers) as pool:
        begun = []
        for run in itertools.chain(first, runs_left):
            begun.append(pool.submit(one, run))
            if failed.is_set():
                break
        outcomes += [future.result() for future in begun]
    return outcomes


def submit_chain(
    runs: Sequence[RunDirectory], scheduler: "Scheduler", after: tuple[str, str] | None = None
) -> Outcomes:
    """Submit the segments in order, each after the end of the previous one, and return the outcomes.

    `after`: the job that the first segment waits for. After a failure the rest is not submitted: `submit --again`
    does that.
    """
    outcomes = Outcomes()
    for run in runs:
        if outcomes and outcomes[-1].job_id is None:
            outcomes.append(Outcome(run))
            continue
        try:
            outcomes.append(Outcome(run, submit(run, scheduler, after=after)))
        except HackathonError as error:
            outcomes.append(Outcome(run, error=error))
            continue
        after = ("any", str(outcomes[-1].job_id))
    return outcomes


def is_unclear(run: RunDirectory) -> bool:
    """Return whether it is unclear if the latest attempt to submit reached the scheduler (UNCERTAIN)."""
    attempt, _ = run.submitting()
    return attempt > 0 and run.job_id() is None and not is_refused(run, attempt)


def require_after(scheduler: "Scheduler", condition: str) -> None:
    """Raise for a scheduler whose jobs cannot wait for another job's end (`any`) or success (`ok`)."""
    if not scheduler.supports_after(condition):
        raise RequestError(_NO_AFTER_TEXTS[condition], scheduler=scheduler.name)


def _write_files(run: RunDirectory, files: Mapping[str, str], scheduler: str) -> None:
    """Write the files that this scheduler reads in place of a header, without overwriting other files of the run."""
    if not files:
        return
    written = run.client("files").get("names")
    own = set(written) if isinstance(written, list) else set()
    for name in files:
        if "/" in name or name.startswith(".") or (name not in own and (run.path / name).exists()):
            raise RequestError(
                "runs.bad_file",
                "the scheduler {scheduler} wants to write {name} into a run's folder, which is not allowed",
                scheduler=scheduler,
                name=name,
            )
    try:
        run.write_client("files", {"names": sorted(files)})
        for name, text in files.items():
            write_whole(run.path / name, text, mode=file_mode(run.path))
        run.files.appeared(*files)  # they were looked up before they were written
    except OSError as error:
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=run.path,
            what=error.strerror or error,
        ) from error


def _one_by_one(runs: Iterable[RunDirectory], scheduler: "Scheduler", after: tuple[str, str] | None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for run in runs:
        stopped = bool(outcomes) and (outcomes[-1].job_id is None)
        outcomes.append(Outcome(run) if stopped else _try(run, scheduler, after))
    return outcomes


def _try(run: RunDirectory, scheduler: "Scheduler", after: tuple[str, str] | None) -> Outcome:
    try:
        return Outcome(run, job_id=submit(run, scheduler, after=after))
    except HackathonError as error:
        return Outcome(run, error=error)


def _may_submit(run: RunDirectory, scheduler: "Scheduler", again: bool) -> tuple[int, str | None]:
    """Return the number of the new attempt, and the job id if an earlier attempt is in the queue."""
    if not (run.path / "client" / "created.json").exists():
        raise RequestError(
            "runs.no_record",
            "{path} is not a run directory: request.json is missing or damaged",
            run=run.id,
            path=run.path,
        )
    job_id = run.job_id()
    if job_id is not None:
        raise RequestError(
            "runs.submitted_already",
            "run {run} was already submitted: job {job_id}",
            hint="`hackathon rerun` creates a new run from the same script and source",
            run=run.id,
            job_id=job_id,
        )
    attempt, before = run.submitting()
    if attempt == 0 or is_refused(run, attempt):
        return attempt + 1, None
    began = before.get("t")
    age = age_of(began if isinstance(began, (int, float)) else _modified(run, attempt), before)
    same_host = before.get("host") == os.uname().nodename
    if (same_host and lives(before.get("pid"), before.get("born"))) or (again and age < _settle(before.get("limit"))):
        raise RequestError(
            "runs.submitting_now",
            "run {run} is being submitted, or its submission was interrupted: an attempt started {seconds} s "
            "ago on {host}",
            hint="wait a minute, then run `hackathon status`",
            run=run.id,
            seconds=f"{max(0.0, age):.0f}",
            host=before.get("host", "?"),
        )
    if not again:
        raise RequestError(
            "runs.uncertain",
            "it is unclear whether run {run} reached the queue: an earlier submission was interrupted",
            hint="look for a job named {name}; if there is none, `hackathon submit --again {run!q}` submits it",
            run=run.id,
            name=run.job_name,
        )
    return attempt + 1, recover(run, scheduler)


def _modified(run: RunDirectory, attempt: int) -> float:
    return (run.path / "client" / f"{submitting_name(attempt)}.json").stat().st_mtime


def _settle(limit: object) -> float:
    """Return SETTLE, or more if the submission's command had a longer time limit."""
    from hackathon.schedulers import runner

    return SETTLE + max(0.0, limit - runner.TIMEOUT) if isinstance(limit, (int, float)) else SETTLE


def _announce(run: RunDirectory, attempt: int, fact: dict[str, Any]) -> None:
    """Record that attempt number `attempt` begins; of several concurrent processes exactly one succeeds."""
    path = run.path / "client" / f"{submitting_name(attempt)}.json"
    raw = json.dumps({**fact, **this_process()}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    try:
        publish_path(path, raw, file_mode(path.parent))
    except FileExistsError as error:
        raise RequestError(
            "runs.submitting_now",
            "run {run} is being submitted, or its submission was interrupted: an attempt started {seconds} s "
            "ago on {host}",
            hint="wait a minute, then run `hackathon status`",
            run=run.id,
            seconds=0,
            host="?",
        ) from error
    except OSError as error:  # nothing was submitted: the attempt did not begin
        raise UnavailableError(
            "runs.not_written",
            "{folder} cannot be written: {what}",
            hint="free some space (`hackathon clean` lists what can be deleted), or check the folder's owner and "
            "permissions",
            folder=run.path,
            what=error.strerror or error,
        ) from error


def _record(run: RunDirectory, name: str, job_id: str, scheduler: "Scheduler") -> None:
    """Store the job id. If the disk is full, the error contains the id: the job is in the queue."""
    fact = {"t": time.time(), "job_id": job_id, "cluster": run.record().cluster, "scheduler": scheduler.name}
    try:
        run.write_client(name, fact)
    except OSError as error:
        raise UnavailableError(
            "runs.id_not_written",
            "run {run} is in the queue as job {job_id}, but this could not be recorded: {what}",
            hint="free some space; `hackathon status` then finds the job by its name",
            run=run.id,
            job_id=job_id,
            what=error.strerror or error,
        ) from error
