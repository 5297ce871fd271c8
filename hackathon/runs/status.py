"""Read the states of runs from their directories, and ask each scheduler once about those that remain open."""

import time
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs import after, events, job_owner
from hackathon.runs.directory import RunDirectory, file_mode, find_runs
from hackathon.runs.markers import Markers, read_final, read_markers
from hackathon.runs.states import ENDED, HELD, LOST, OPEN, SUCCEEDED, UNCERTAIN, RunStatus, decide
from hackathon.schedulers.base import OPEN_STATES, JobState
from hackathon.text.errors import HackathonError
from hackathon.text.files import write_json
from hackathon.text.messages import N_, _
from hackathon.text.numbers import integer, number
from hackathon.text.printable import printable
from hackathon.text.told import Worded
from hackathon.text.uptime import jumped, memory

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler, StatusAnswer

_JOB_OF_TEXTS = {
    "other_owner": N_("run {run} names job {job_id}, which belongs to {user}; its state is not shown"),
    "other_run": N_("run {run} names job {job_id}, which is the job {name} of another run; its state is not shown"),
}

__all__ = ["RunStatus", "decide", "status"]

MAX_AGE = 30.0
"""Seconds for which a scheduler's answer is reused; also the time between two searches for an UNCERTAIN run's job."""
FRESH_AGE = 2.0
"""The same after a job has just ended or was cancelled: an older answer is out of date then."""
ABSENT_APART = 60.0
"""Seconds between two successful answers without the job before it is LOST."""
SETTLING = 60.0
"""Seconds for which a run that ended only by the scheduler's report stays unsealed.

`ended` may still appear (NFS caches reads for up to 60 s), and a failed node's job may be requeued.
"""
CAUSE_WAIT = 600.0
"""Seconds after `ended` in which the scheduler may still report the cause; then FAILED is sealed as it is."""
LEFT = 64 * 1024
"""Bytes read from the end of a file that a scheduler left in a run."""
_JOB_FIELDS = frozenset(entry.name for entry in fields(JobState))

Seen = MutableMapping[Path, dict[str, Any]]
"""Run's folder → content of `client/seen.json`, for callers that may not write in runs."""


@dataclass
class _Looked:
    """A run while its state is determined."""

    run: RunDirectory
    markers: Markers
    write: bool = True
    seen: dict[str, Any] = field(default_factory=dict)
    """The content of `client/seen.json`, or a newer version in memory."""
    answer: JobState | None = None
    asked: float | None = None
    """When the scheduler was asked; None without an answer."""
    fresh: bool = False
    """Whether it was asked after the markers were read: then the answer is newer whatever the clocks say."""
    problem: str = ""

    @property
    def writable(self) -> bool:
        """Whether facts may be written in the run's folder."""
        return self.write and self.run.owned()

    @property
    def wants_answer(self) -> bool:
        """Whether the directory leaves a question that a scheduler can answer."""
        succeeded = self.markers.ended is not None and self.markers.exit_code == 0
        return self.markers.job_id is not None and not self.markers.by_hand and not succeeded


def status(
    runs: Iterable[RunDirectory],
    *,
    ask: bool = True,
    now: float | None = None,
    load: "Callable[[str], Scheduler] | None" = None,
    write: bool = True,
    seen: Seen | None = None,
) -> list[RunStatus]:
    """Return the states of runs, in their order.

    A sealed run costs one small read. Each scheduler is asked once, about the runs that their directories leave open;
    with `ask=False` not at all. Its answer is stored in `client/seen.json`, and a run that has certainly ended is
    sealed with `final.json`, if the run is the user's own. `load` returns a scheduler by name (default: from the
    registry, with the dialect of the newest run). With `write=False` nothing is written in run folders, and jobs of
    UNCERTAIN runs are not searched; `seen` then stores the scheduler's answers between calls. Never raises when a
    scheduler does not answer: those states are marked stale and have a `problem`.
    """
    listed = list(runs)
    finals = {run: final for run in listed if (final := read_final(run)) is not None}
    looked = {run: _Looked(run, read_markers(run), write) for run in listed if run not in finals}
    moment = time.time() if now is None else now
    for look in looked.values():
        if look.wants_answer or _is_uncertain(look.markers):
            look.seen = _newer(look.run.client("seen"), seen.get(look.run.path) if seen is not None else None)
    if ask:
        if write:
            _search(looked.values(), moment, load)
        _ask(looked.values(), moment, load)
    statuses = [
        RunStatus.from_final(run.id, finals[run]) if run in finals else _conclude(looked[run], moment, ask)
        for run in listed
    ]
    jobs = cache(lambda folder: {other.job_id(): other.id for other in find_runs(folder)})
    statuses = [
        after.with_name(run, state, lambda job, run=run: jobs(run.path.parent).get(job, ""))  # type: ignore[misc]
        if state.state == HELD
        else state
        for run, state in zip(listed, statuses, strict=True)
    ]
    if seen is not None:
        seen.update({look.run.path: look.seen for look in looked.values() if look.asked is not None})
    return statuses


def _newer(stored: dict[str, Any], memory: dict[str, Any] | None) -> dict[str, Any]:
    """Return the later of two answers: the one in the run's folder or the one in memory."""

    def last(value: dict[str, Any]) -> float:
        return max(number(value.get("t")) or 0.0, number(value.get("absent_t")) or 0.0)

    return memory if memory is not None and last(memory) >= last(stored) else stored


def _is_uncertain(markers: Markers) -> bool:
    return markers.job_id is None and markers.submitting is not None and markers.refused is None


def _search(looked: Iterable[_Looked], now: float, load: "Callable[[str], Scheduler] | None") -> None:
    """Search the jobs of UNCERTAIN runs by name, each at most once in MAX_AGE seconds."""
    for look in looked:
        if not _is_uncertain(look.markers) or 0 <= now - (number(look.seen.get("looked")) or 0.0) < MAX_AGE:
            continue
        from hackathon.runs.submit import recover

        try:
            job_id = recover(look.run, _load(look.run, load))
        except HackathonError as error:
            look.problem = Worded.of(error)
            continue
        if job_id is not None:
            submitted = look.markers.submitted or look.markers.submitting
            look.markers = replace(look.markers, job_id=job_id, submitted=submitted)
        elif look.writable:
            _keep(look.run, {**look.seen, "looked": now})


def _ask(looked: Iterable[_Looked], now: float, load: "Callable[[str], Scheduler] | None") -> None:
    """Send one query to each scheduler of each cluster."""
    groups: dict[tuple[str, str], list[_Looked]] = {}
    for look in looked:
        if look.wants_answer:
            groups.setdefault(scheduler_of(look.run), []).append(look)
    if not groups:
        return
    from hackathon.schedulers import runner

    for (__, cluster), group in groups.items():
        # A cancelled job that is slow to stop is killed; then the run's folder does not record its end.
        news = [t for look in group for t in (look.markers.ended, look.markers.cancelled) if t is not None]
        news += [moment for look in group if (moment := after.just_released(look.run, look.markers)) is not None]
        # a scheduler that kills at the limit leaves the job no time to record its end
        news += [moment for look in group if (moment := look.markers.deadline) is not None and moment <= now]
        newest = max((look.run for look in group), key=lambda run: run.id)
        fresh = newest.known().inside_allocation or any(abs(now - moment) < CAUSE_WAIT for moment in news)
        ids = [str(look.markers.job_id) for look in group]
        try:
            scheduler = _load(newest, load)
            answer = runner.status_cached(scheduler, cluster, ids, max_age=FRESH_AGE if fresh else MAX_AGE)
        except HackathonError as error:
            for look in group:
                look.problem = Worded.of(error)
            continue
        for look in group:
            _take(look, answer, scheduler, now)


def _take(look: _Looked, answer: "StatusAnswer", scheduler: "Scheduler", now: float) -> None:
    """Take the answer about a run's job, unless the job in the run's files is somebody else's."""
    job_id = str(look.markers.job_id)
    job = answer.jobs.get(job_id) or _left(look, scheduler)
    whose = job_owner.OWN if job is None else job_owner.whose(look.run, job)
    if job is not None and whose in job_owner.FOREIGN:
        values = {"run": look.run.id, "job_id": job_id, "name": printable(job.name), "user": job_owner.shown_owner(job)}
        look.problem = _(_JOB_OF_TEXTS[whose], **values)
        return
    look.answer = job
    look.asked = answer.asked.get(job_id, now)
    look.fresh = look.asked >= now


def _left(look: _Looked, scheduler: "Scheduler") -> JobState | None:
    """Return how a job ended that its scheduler has forgotten, by the files it left in the run; None without any.

    Files from before the latest attempt concern an earlier one.
    """
    job_id, began = str(look.markers.job_id), look.markers.started
    for name in scheduler.left_files(job_id, look.run.job_name):
        tail = look.run.files.end(name, LEFT)
        state = scheduler.parse_left(tail[0].decode("utf-8", "surrogateescape"), job_id) if tail else None
        # the scheduler's times are whole seconds
        if state is not None and (began is None or state.end is None or state.end > began - 1):
            return state
    return None


def _load(run: RunDirectory, load: "Callable[[str], Scheduler] | None") -> "Scheduler":
    return load_scheduler(run) if load is None else load(scheduler_of(run)[0])


def load_scheduler(run: RunDirectory) -> "Scheduler":
    """Return the scheduler that a run was submitted to, with its dialect at that time. Raises RequestError."""
    from hackathon.schedulers import registry

    return registry.load(scheduler_of(run)[0], run.record().dialect)


def scheduler_of(run: RunDirectory) -> tuple[str, str]:
    """Return (scheduler, cluster) that a run was submitted to, or is meant for."""
    for name in ("submitted", "recovered", "adopted"):
        fact = run.client(name)
        if fact.get("scheduler") and fact.get("cluster"):
            return str(fact["scheduler"]), str(fact["cluster"])
    record = run.record()
    return record.scheduler, record.cluster


def _conclude(look: _Looked, now: float, ask: bool) -> RunStatus:
    """Return a run's state; store the scheduler's answer, and seal the run if it is over."""
    owned = look.asked is not None and look.writable
    if look.asked is not None:
        answer = _fold(look)
        if owned and _worth_keeping(look.seen, answer):
            _keep(look.run, answer)
        look.seen = answer
    status = decide(look.markers, _valid(look), lost=_absent_long_enough(look), run_id=look.run.id)
    if look.asked is not None and look.markers.ended is None and status.state not in OPEN:
        again = read_markers(look.run)  # it may have started and ended since; the job's own records take precedence
        if again != look.markers:
            look.markers, look.fresh = again, False
            status = decide(again, _valid(look), run_id=look.run.id)
    if look.asked is None and status.state in OPEN and status.state != UNCERTAIN:
        last_word = number(look.seen.get("t")) or status.t_submitted or status.t_created
        status = replace(status, stale_seconds=max(0.0, now - last_word) if last_word is not None else None)
    status = replace(status, problem=look.problem)
    if status.state == "FAILED" and status.cause in ("exit", "signal"):
        status = _with_first_rank(look.run, status)
    status = after.explained(look.run, look.markers, status, lambda other: _state(other, look.write))
    if _may_seal(look, status, now, ask) and look.writable:
        return _seal(look.run, status, now)
    return status


def _with_first_rank(run: RunDirectory, status: RunStatus) -> RunStatus:
    """Return the status with the rank that failed first, if the ranks' records contain it."""
    first = events.first_failure(run.path, status.attempt)
    if first is None:
        return status
    rank, event = first
    code, signal = integer(event.get("exit_code")), integer(event.get("signal"))
    return replace(
        status,
        first_rank=rank,
        first_host=str(event.get("host") or ""),
        first_exit_code=code,
        first_signal=signal,
    )


def _fold(look: _Looked) -> dict[str, Any]:
    """Return the new `client/seen.json`: the answer, since when it is unchanged, and when the job was first missed."""
    assert look.asked is not None
    machine = memory(look.seen)
    if look.answer is None:
        newer = look.asked > (look.markers.submitted or look.markers.submitting or 0.0)
        first, moment = number(look.seen.get("absent_since")), look.asked - jumped(look.seen)
        memory_of_run = {**look.seen, **machine, "absent_t": moment}
        if newer:
            memory_of_run["absent_since"] = first if first is not None and first <= moment else moment
        return memory_of_run
    # the job's progress at the time of an older answer is unknown, unless it was stored with that answer
    if look.fresh:
        markers: dict[str, Any] = {"attempt": look.markers.attempt, "stage": look.markers.stage}
    else:
        before = look.seen if look.seen.get("t") == look.asked else {}
        markers = {"attempt": before.get("attempt"), "stage": before.get("stage")}
    memory_of_run = {**asdict(look.answer), "hosts": list(look.answer.hosts), "t": look.asked, **markers, **machine}
    same = all(look.seen.get(name) == memory_of_run[name] for name in ("state", "raw"))
    same = same and len({look.seen.get("attempt"), memory_of_run["attempt"]} - {None}) < 2
    memory_of_run["since"] = look.seen.get("since", look.asked) if same else look.asked
    return memory_of_run


def _worth_keeping(before: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Return whether to write: something other than the time changed, or the time is a minute old."""
    times = ("t", "absent_t")
    changed = {**before, "t": 0, "absent_t": 0} != {**answer, "t": 0, "absent_t": 0}
    return changed or any(
        (number(answer.get(name)) or 0.0) - (number(before.get(name)) or 0.0) >= ABSENT_APART for name in times
    )


def _absent_long_enough(look: _Looked) -> bool:
    """Return whether two successful answers, far enough apart, lack the job (also if the second is a stored one)."""
    first, last = number(look.seen.get("absent_since")), number(look.seen.get("absent_t"))
    return look.answer is None and first is not None and last is not None and last - first >= ABSENT_APART


def _valid(look: _Looked) -> JobState | None:
    """Return the scheduler's current or last report; None when it does not concern the latest attempt.

    The job's progress is stored with an answer. Times are compared only without it, because the clocks of two machines
    may differ.
    """
    state, moment, markers = look.answer, look.asked, look.markers
    stage, attempt = None, None
    if state is None:
        state, moment = job_state(look.seen), number(look.seen.get("t"))
        stage, attempt = integer(look.seen.get("stage")), integer(look.seen.get("attempt"))
        if state is not None and state.state in OPEN_STATES and "absent_t" in look.seen:
            return None  # the job has disappeared since; only a reported end stays valid
    elif look.fresh:
        return state
    if state is None or moment is None:
        return None
    went_on = stage is None or markers.stage > stage
    if state.state in OPEN_STATES:
        # The answer is older than the marker: the job has started or ended since.
        began = markers.started if state.state in ("QUEUED", "HELD") else None
        later = [end for end in (began, markers.ended) if end is not None and (stage is not None or end > moment)]
        return None if later and went_on else state
    if attempt is not None and attempt < markers.attempt:
        return None
    before_this_attempt = markers.started is not None and markers.ended is None and moment < markers.started
    return None if before_this_attempt and went_on else state


def job_state(answer: dict[str, Any]) -> JobState | None:
    """Return the scheduler's report in a `client/seen.json`, None without one."""
    values = {name: value for name, value in answer.items() if name in _JOB_FIELDS}
    with suppress(TypeError):
        return JobState(**{**values, "hosts": tuple(values.get("hosts") or ())}) if values.get("state") else None
    return None


def _state(run: RunDirectory, write: bool) -> str:
    """Return a run's state from its folder, and from the scheduler if the folder shows no end.

    With `write=False` only from the folder, and nothing is written there.
    """
    state = status([run], ask=False, write=write)[0].state
    return state if state in ENDED or not write else status([run])[0].state


def _may_seal(look: _Looked, status: RunStatus, now: float, ask: bool) -> bool:
    """Return whether a run's state is final: no later fact can change it."""
    markers = look.markers
    now -= jumped(look.seen)
    if status.job_id is None or status.open or status.state == LOST or status.cause == "refused":
        return False
    if markers.ended is not None:
        if status.state == SUCCEEDED or (status.settled and status.state == "FAILED"):
            return True
        if not status.settled:
            return ask and now - markers.ended >= CAUSE_WAIT
    if look.answer is None:
        return status.settled and look.asked is not None  # cancelled, and gone from the queue
    ended = look.answer.end if look.answer.end is not None else number(look.seen.get("since"))
    return status.settled and ended is not None and now - ended >= SETTLING


def _seal(run: RunDirectory, status: RunStatus, now: float) -> RunStatus:
    """Write `final.json` and `outputs.json`, return the sealed state; an unwritable directory stays unsealed."""
    hosts = events.hosts(run.path, status.attempt) or status.hosts
    status = replace(status, hosts=hosts, settled=True, sealed=True, stale_seconds=None, problem="")
    final = {**status.to_json(), "sealed": now}
    for name in ("run_id", "settled", "stale_seconds", "problem"):
        del final[name]
    if not _unsealed(run):
        return replace(status, sealed=False)
    try:
        write_json(run.path / "final.json", final)
        (run.path / "final.json").chmod(file_mode(run.path / "client"))
        run.files.appeared("final.json")
    except OSError:
        return replace(status, sealed=False)
    from hackathon.runs.outputs.record import record_if_over

    record_if_over(run)
    return status


def _unsealed(run: RunDirectory) -> bool:
    """Return whether a run certainly has no seal or a damaged one; an unreadable seal may be valid.

    A file server may refuse a file for a moment, or list one that it cannot open yet.
    """
    kinds = run.files.kinds()
    return bool(kinds) and ("final.json" not in kinds or run.files.read("final.json") is not None)


def _keep(run: RunDirectory, answer: dict[str, Any]) -> None:
    """Write `client/seen.json`; on a full disk or in a foreign directory only this answer is lost."""
    with suppress(OSError):
        run.write_client("seen", answer)
