"""Hand a run to the scheduler exactly once, whatever happens to this process on the way.

A fact is written before the scheduler's command and another one after it. Between the two nobody knows whether the job
is in the queue; then it is looked for by its name, and never submitted a second time unless its owner says so.
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
from hackathon.text.uptime import age as age_of
from hackathon.text.uptime import lives, this_process

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler

SETTLE = 35.0
"""Seconds after which a submission whose process is gone cannot reach the scheduler any more: a command that outlived
its killed parent has ended (the runner's time limit, and 3 s), and the scheduler's own lists show the job."""
# The command may have done its work although its answer was thrown away.
_NO_ANSWER = frozenset({"schedulers.too_much_output", "schedulers.timeout", "schedulers.garbage"})


@dataclass(frozen=True)
class Outcome:
    """What became of one run of `submit_many`: a job id or an error."""

    run: RunDirectory
    job_id: str | None = None
    error: HackathonError | None = None


class Outcomes(list[Outcome]):
    """What became of several runs, in their order; `error` says why no further run could be made."""

    error: HackathonError | None = None

    @property
    def failure(self) -> HackathonError | None:
        """The first thing that went wrong, None when nothing did."""
        return next((outcome.error for outcome in self if outcome.error is not None), self.error)


def submit(
    run: RunDirectory, scheduler: "Scheduler", *, again: bool = False, after: tuple[str, str] | None = None
) -> str:
    """Submit a run and return its job id.

    `after`: (`ok` or `any`, job id) that it waits for; without it, what the run's `client/` names. Raises RequestError:
    it was submitted before, or somebody else is submitting it now, or an earlier submission's end is unknown and
    `again` is not given (with `again` the job is looked for by name first, and taken when it is there). SchedulerError
    as the runner raises it: when the scheduler refused, `client/refused.json` says so and the run may be submitted
    again; else its state is UNCERTAIN.
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
            with contextlib.suppress(OSError):  # a full disk: the run stays UNCERTAIN, which is true as well
                run.write_client("refused", {"t": time.time(), "attempt": attempt, "message": str(error)})
            step("after-refused")
        raise
    step("after-scheduler")
    _record(run, "submitted", job_id, scheduler)
    step("after-submitted")
    return job_id


def recover(run: RunDirectory, scheduler: "Scheduler") -> str | None:
    """Return the id of a job whose submission was cut off, looked for by name; None when there is none (UNCERTAIN).

    What is found is written down as `client/recovered.json`, if the run is the user's own. Raises SchedulerError when
    the scheduler does not answer.
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
    """Return the jobs of the run's name without those of other accounts: anybody may give a job that name."""
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
    """Submit runs with a few commands at a time and return their outcomes in the order given.

    Each run has the guarantees of `submit`; all wait for `after`. `runs` may be a generator that makes them: the
    next one is made while the scheduler takes the one before; when that fails (a full disk), those made before are
    submitted and `error` says why.
    After the first failure no further run is taken from it or begun: what the scheduler refuses once it refuses fifty
    times; runs that were not begun come back without a job id and without an error.
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
    """Submit the segments in their order, each after the former's end, and return what became of them.

    `after`: what the first one waits for. After a failure no further one is begun: `submit --again` goes on.
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
    """Return whether nobody knows if the latest attempt to submit reached the scheduler (UNCERTAIN)."""
    attempt, _ = run.submitting()
    return attempt > 0 and run.job_id() is None and not is_refused(run, attempt)


def require_after(scheduler: "Scheduler", condition: str) -> None:
    """Refuse what needs a job to wait for another one's end (`any`) or success (`ok`), where the scheduler cannot."""
    if not scheduler.supports_after(condition):
        raise RequestError(f"runs.no_after_{condition}", scheduler=scheduler.name)


def _write_files(run: RunDirectory, files: Mapping[str, str], scheduler: str) -> None:
    """Write what the scheduler reads in place of a header; never over a file of the run that is not such a one."""
    if not files:
        return
    written = run.client("files").get("names")
    own = set(written) if isinstance(written, list) else set()
    for name in files:
        if "/" in name or name.startswith(".") or (name not in own and (run.path / name).exists()):
            raise RequestError("runs.bad_file", scheduler=scheduler, name=name)
    try:
        run.write_client("files", {"names": sorted(files)})
        for name, text in files.items():
            write_whole(run.path / name, text, mode=file_mode(run.path))
        run.files.appeared(*files)  # they were looked for before they were written
    except OSError as error:
        raise UnavailableError("runs.not_written", folder=run.path, what=error.strerror or error) from error


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
    """Return the number of the new attempt, and the job id when an earlier one turned out to be in the queue."""
    if not (run.path / "client" / "created.json").exists():
        raise RequestError("runs.no_record", run=run.id, path=run.path)
    job_id = run.job_id()
    if job_id is not None:
        raise RequestError("runs.submitted_already", run=run.id, job_id=job_id)
    attempt, before = run.submitting()
    if attempt == 0 or is_refused(run, attempt):
        return attempt + 1, None
    began = before.get("t")
    age = age_of(began if isinstance(began, (int, float)) else _modified(run, attempt), before)
    same_host = before.get("host") == os.uname().nodename
    if (same_host and lives(before.get("pid"), before.get("born"))) or (again and age < _settle(before.get("limit"))):
        raise RequestError(
            "runs.submitting_now", run=run.id, seconds=f"{max(0.0, age):.0f}", host=before.get("host", "?")
        )
    if not again:
        raise RequestError("runs.uncertain", run=run.id, name=run.job_name)
    return attempt + 1, recover(run, scheduler)


def _modified(run: RunDirectory, attempt: int) -> float:
    return (run.path / "client" / f"{submitting_name(attempt)}.json").stat().st_mtime


def _settle(limit: object) -> float:
    """Return SETTLE, longer where the submission's command was given more time than usual."""
    from hackathon.schedulers import runner

    return SETTLE + max(0.0, limit - runner.TIMEOUT) if isinstance(limit, (int, float)) else SETTLE


def _announce(run: RunDirectory, attempt: int, fact: dict[str, Any]) -> None:
    """Write down that attempt number `attempt` begins; of two that try at the same moment exactly one gets through."""
    path = run.path / "client" / f"{submitting_name(attempt)}.json"
    raw = json.dumps({**fact, **this_process()}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    try:
        publish_path(path, raw, file_mode(path.parent))
    except FileExistsError as error:
        raise RequestError("runs.submitting_now", run=run.id, seconds=0, host="?") from error
    except OSError as error:  # nothing was submitted yet: the attempt did not begin
        raise UnavailableError("runs.not_written", folder=run.path, what=error.strerror or error) from error


def _record(run: RunDirectory, name: str, job_id: str, scheduler: "Scheduler") -> None:
    """Write down the job id. When the disk is full the job is in the queue all the same: the error says its id."""
    fact = {"t": time.time(), "job_id": job_id, "cluster": run.record().cluster, "scheduler": scheduler.name}
    try:
        run.write_client(name, fact)
    except OSError as error:
        raise UnavailableError(
            "runs.id_not_written", run=run.id, job_id=job_id, what=error.strerror or error
        ) from error
