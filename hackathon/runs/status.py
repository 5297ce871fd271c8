"""The states of runs: from their directories, and from one question to each scheduler about those left open."""

import time
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.runs import after, events, job_owner
from hackathon.runs.directory import RunDirectory, file_mode
from hackathon.runs.markers import Markers, read_final, read_markers
from hackathon.runs.outputs.record import record_if_over
from hackathon.runs.states import ENDED, LOST, OPEN, SUCCEEDED, UNCERTAIN, RunStatus, decide
from hackathon.schedulers.base import OPEN_STATES, JobState
from hackathon.text.errors import HackathonError
from hackathon.text.files import write_json
from hackathon.text.json_fields import number, whole
from hackathon.text.messages import message
from hackathon.text.printable import printable
from hackathon.text.uptime import jumped, memory

if TYPE_CHECKING:
    from hackathon.schedulers.base import Scheduler, StatusAnswer

__all__ = ["RunStatus", "decide", "status"]

MAX_AGE = 30.0
"""Seconds that a scheduler's answer is used again; also the time between two searches for an UNCERTAIN run's job."""
FRESH_AGE = 2.0
"""The same when a job has just ended or was cancelled: then the kept answer is surely older than what is wanted."""
ABSENT_APART = 60.0
"""Seconds between two good answers without the job before it is LOST."""
SETTLING = 60.0
"""Seconds that a run stays unsealed when only the scheduler says that it ended: `ended` may still come (NFS keeps what
it read for up to 60 s), and a failed node's job may be queued again."""
CAUSE_WAIT = 600.0
"""Seconds after `ended` in which the scheduler may still tell why; then FAILED is sealed as it is."""
LEFT = 64 * 1024
"""Bytes at the end of a file that a scheduler left in a run."""
_JOB_FIELDS = frozenset(entry.name for entry in fields(JobState))

Seen = MutableMapping[Path, dict[str, Any]]
"""Run's folder → what `client/seen.json` holds otherwise: the memory of who may not write in runs."""


@dataclass
class _Looked:
    """A run while its state is being found."""

    run: RunDirectory
    markers: Markers
    write: bool = True
    seen: dict[str, Any] = field(default_factory=dict)
    """`client/seen.json` as it was, or a newer memory of it."""
    answer: JobState | None = None
    asked: float | None = None
    """When the scheduler was asked; None when there is no answer."""
    fresh: bool = False
    """Whether it was asked after the markers were read: then no clock is needed to tell which of the two is newer."""
    problem: str = ""

    @property
    def writable(self) -> bool:
        """Whether facts may be written in the run's folder."""
        return self.write and self.run.owned()

    @property
    def wants_answer(self) -> bool:
        """Whether the directory leaves a question that a scheduler can answer."""
        known = self.markers.ended is not None and self.markers.exit_code == 0
        return self.markers.job_id is not None and not self.markers.by_hand and not known


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

    A sealed run costs one small read. Each scheduler is asked once, about the runs that their directories leave open,
    and not at all with `ask=False`. What it said is kept in `client/seen.json`, and a run that has surely ended is
    sealed with `final.json`, if the run is the user's own. `load` finds a scheduler by name (default: the registry,
    with the dialect of the newest run).
    With `write=False` nothing is written in any run's folder, and no job of an UNCERTAIN run is looked for; `seen` then
    keeps what the scheduler said from one call to the next.
    Never raises for a scheduler that does not answer: those states are marked stale and carry the `problem`.
    """
    listed = list(runs)
    finals = {run: final for run in listed if (final := read_final(run)) is not None}
    looked = {run: _Looked(run, read_markers(run), write) for run in listed if run not in finals}
    moment = time.time() if now is None else now
    for one in looked.values():
        if one.wants_answer or _is_uncertain(one.markers):
            one.seen = _newer(one.run.client("seen"), seen.get(one.run.path) if seen is not None else None)
    if ask:
        if write:
            _search(looked.values(), moment, load)
        _ask(looked.values(), moment, load)
    found = [
        RunStatus.from_final(run.id, finals[run]) if run in finals else _conclude(looked[run], moment, ask)
        for run in listed
    ]
    if seen is not None:
        seen.update({one.run.path: one.seen for one in looked.values() if one.asked is not None})
    return found


def _newer(kept: dict[str, Any], memory: dict[str, Any] | None) -> dict[str, Any]:
    """Return what was said later: as the run's folder has it, or as it is remembered."""

    def last(value: dict[str, Any]) -> float:
        return max(number(value.get("t")) or 0.0, number(value.get("absent_t")) or 0.0)

    return memory if memory is not None and last(memory) >= last(kept) else kept


def _is_uncertain(markers: Markers) -> bool:
    return markers.job_id is None and markers.submitting is not None and markers.refused is None


def _search(looked: Iterable[_Looked], now: float, load: "Callable[[str], Scheduler] | None") -> None:
    """Look for the jobs of UNCERTAIN runs by name, each at most once in MAX_AGE seconds."""
    from hackathon.runs.submit import recover

    for one in looked:
        if not _is_uncertain(one.markers) or 0 <= now - (number(one.seen.get("looked")) or 0.0) < MAX_AGE:
            continue
        try:
            job_id = recover(one.run, _load(one.run, load))
        except HackathonError as error:
            one.problem = str(error)
            continue
        if job_id is not None:
            submitted = one.markers.submitted or one.markers.submitting
            one.markers = replace(one.markers, job_id=job_id, submitted=submitted)
        elif one.writable:
            _keep(one.run, {**one.seen, "looked": now})


def _ask(looked: Iterable[_Looked], now: float, load: "Callable[[str], Scheduler] | None") -> None:
    """Put one question to each scheduler of each cluster."""
    from hackathon.schedulers import runner

    groups: dict[tuple[str, str], list[_Looked]] = {}
    for one in looked:
        if one.wants_answer:
            groups.setdefault(scheduler_of(one.run), []).append(one)
    for (_, cluster), group in groups.items():
        # A cancelled job is killed if it takes too long, and then nothing in the run's folder says that it is gone.
        news = [moment for one in group for moment in (one.markers.ended, one.markers.cancelled) if moment is not None]
        news += [moment for one in group if (moment := after.just_released(one.run, one.markers)) is not None]
        # a scheduler that kills at the limit leaves the job no time to say so
        news += [moment for one in group if (moment := one.markers.deadline) is not None and moment <= now]
        newest = max((one.run for one in group), key=lambda run: run.id)
        fresh = newest.known().inside_allocation or any(abs(now - moment) < CAUSE_WAIT for moment in news)
        ids = [str(one.markers.job_id) for one in group]
        try:
            scheduler = _load(newest, load)
            answer = runner.status_cached(scheduler, cluster, ids, max_age=FRESH_AGE if fresh else MAX_AGE)
        except HackathonError as error:
            for one in group:
                one.problem = str(error)
            continue
        for one in group:
            _take(one, answer, scheduler, now)


def _take(one: _Looked, answer: "StatusAnswer", scheduler: "Scheduler", now: float) -> None:
    """Take the answer about a run's job; not that about a job of somebody else, which the run's files name."""
    job_id = str(one.markers.job_id)
    job = answer.jobs.get(job_id) or _left(one, scheduler)
    whose = job_owner.OWN if job is None else job_owner.whose(one.run, job)
    if job is not None and whose in job_owner.FOREIGN:
        values = {"run": one.run.id, "job_id": job_id, "name": printable(job.name), "user": job_owner.shown_owner(job)}
        one.problem = message(f"runs.job_of_{whose}", **values)
        return
    one.answer = job
    one.asked = answer.asked.get(job_id, now)
    one.fresh = one.asked >= now


def _left(one: _Looked, scheduler: "Scheduler") -> JobState | None:
    """Return how a job that its scheduler no longer knows ended, by what that left in the run; None where it does not.

    What was left before the latest attempt began is about an earlier one.
    """
    job_id, began = str(one.markers.job_id), one.markers.started
    for name in scheduler.left_files(job_id, one.run.job_name):
        found = one.run.files.end(name, LEFT)
        state = scheduler.parse_left(found[0].decode("utf-8", "surrogateescape"), job_id) if found else None
        # the scheduler counts in whole seconds
        if state is not None and (began is None or state.end is None or state.end > began - 1):
            return state
    return None


def _load(run: RunDirectory, load: "Callable[[str], Scheduler] | None") -> "Scheduler":
    return load_scheduler(run) if load is None else load(scheduler_of(run)[0])


def load_scheduler(run: RunDirectory) -> "Scheduler":
    """Return the scheduler that a run was submitted to, which speaks the dialect of that day. Raises RequestError."""
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


def _conclude(one: _Looked, now: float, ask: bool) -> RunStatus:
    """Return a run's state; write down what the scheduler said, and seal it if it is over."""
    owned = one.asked is not None and one.writable
    if one.asked is not None:
        kept = _fold(one)
        if owned and _worth_keeping(one.seen, kept):
            _keep(one.run, kept)
        one.seen = kept
    found = decide(one.markers, _valid(one), lost=_absent_long_enough(one), run_id=one.run.id)
    if one.asked is not None and one.markers.ended is None and found.state not in OPEN:
        again = read_markers(one.run)  # it may have begun and ended since: the last word belongs to the job itself
        if again != one.markers:
            one.markers, one.fresh = again, False
            found = decide(again, _valid(one), run_id=one.run.id)
    if one.asked is None and found.state in OPEN and found.state != UNCERTAIN:
        known = number(one.seen.get("t")) or found.t_submitted or found.t_created
        found = replace(found, stale_seconds=max(0.0, now - known) if known is not None else None)
    found = replace(found, problem=one.problem)
    if found.state == "FAILED" and found.cause in ("exit", "signal"):
        found = _with_first_rank(one.run, found)
    found = after.explained(one.run, one.markers, found, lambda other: _state(other, one.write))
    if _may_seal(one, found, now, ask) and one.writable:
        return _seal(one.run, found, now)
    return found


def _with_first_rank(run: RunDirectory, found: RunStatus) -> RunStatus:
    """Return the status with the rank that failed first, where the ranks' records tell."""
    first = events.first_failure(run.path, found.attempt)
    if first is None:
        return found
    rank, event = first
    code, signal = whole(event.get("exit_code")), whole(event.get("signal"))
    return replace(
        found,
        first_rank=rank,
        first_host=str(event.get("host") or ""),
        first_exit_code=code,
        first_signal=signal,
    )


def _fold(one: _Looked) -> dict[str, Any]:
    """Return the new `client/seen.json`: the answer, since when it is the same, and when the job was first missed."""
    assert one.asked is not None
    machine = memory(one.seen)
    if one.answer is None:
        newer = one.asked > (one.markers.submitted or one.markers.submitting or 0.0)
        first, asked = number(one.seen.get("absent_since")), one.asked - jumped(one.seen)
        kept = {**one.seen, **machine, "absent_t": asked}
        if newer:
            kept["absent_since"] = first if first is not None and first <= asked else asked
        return kept
    # how far the job had come when an older answer was given is not known, unless that very answer was kept then
    if one.fresh:
        markers: dict[str, Any] = {"attempt": one.markers.attempt, "stage": one.markers.stage}
    else:
        before = one.seen if one.seen.get("t") == one.asked else {}
        markers = {"attempt": before.get("attempt"), "stage": before.get("stage")}
    kept = {**asdict(one.answer), "hosts": list(one.answer.hosts), "t": one.asked, **markers, **machine}
    same = all(one.seen.get(name) == kept[name] for name in ("state", "raw"))
    same = same and len({one.seen.get("attempt"), kept["attempt"]} - {None}) < 2
    kept["since"] = one.seen.get("since", one.asked) if same else one.asked
    return kept


def _worth_keeping(before: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Return whether to write: something but the time changed, or the time is a minute old."""
    times = ("t", "absent_t")
    changed = {**before, "t": 0, "absent_t": 0} != {**kept, "t": 0, "absent_t": 0}
    return changed or any(
        (number(kept.get(name)) or 0.0) - (number(before.get(name)) or 0.0) >= ABSENT_APART for name in times
    )


def _absent_long_enough(one: _Looked) -> bool:
    """Return whether two good answers, far enough apart, did not know the job (also when the second one is kept)."""
    first, last = number(one.seen.get("absent_since")), number(one.seen.get("absent_t"))
    return one.answer is None and first is not None and last is not None and last - first >= ABSENT_APART


def _valid(one: _Looked) -> JobState | None:
    """Return the scheduler's word now, else what it said last; None when that says nothing about the latest attempt.

    What is kept with an answer tells how far the job had come then; times only where that is not kept, for the clocks
    of two machines may differ.
    """
    state, asked, markers = one.answer, one.asked, one.markers
    stage, attempt = None, None
    if state is None:
        state, asked = job_state(one.seen), number(one.seen.get("t"))
        stage, attempt = whole(one.seen.get("stage")), whole(one.seen.get("attempt"))
        if state is not None and state.state in OPEN_STATES and "absent_t" in one.seen:
            return None  # it was there and is not any more; an end that was seen once stays true
    elif one.fresh:
        return state
    if state is None or asked is None:
        return None
    went_on = stage is None or markers.stage > stage
    if state.state in OPEN_STATES:
        # Older than the marker: the job began, or ended, since then.
        began = markers.started if state.state in ("QUEUED", "HELD") else None
        later = [each for each in (began, markers.ended) if each is not None and (stage is not None or each > asked)]
        return None if later and went_on else state
    if attempt is not None and attempt < markers.attempt:
        return None
    before_this_attempt = markers.started is not None and markers.ended is None and asked < markers.started
    return None if before_this_attempt and went_on else state


def job_state(kept: dict[str, Any]) -> JobState | None:
    """Return the scheduler's word from a `client/seen.json`, None when it has none."""
    values = {name: value for name, value in kept.items() if name in _JOB_FIELDS}
    with suppress(TypeError):
        return JobState(**{**values, "hosts": tuple(values.get("hosts") or ())}) if values.get("state") else None
    return None


def _state(run: RunDirectory, write: bool) -> str:
    """Return a run's state by its folder, and by the scheduler when the folder does not tell an end.

    With `write=False` the folder tells alone, and nothing is written there.
    """
    state = status([run], ask=False, write=write)[0].state
    return state if state in ENDED or not write else status([run])[0].state


def _may_seal(one: _Looked, found: RunStatus, now: float, ask: bool) -> bool:
    """Return whether a run is over for good: nothing that can still come would change its state."""
    markers = one.markers
    now -= jumped(one.seen)
    if found.job_id is None or found.open or found.state == LOST or found.cause == "refused":
        return False
    if markers.ended is not None:
        if found.state == SUCCEEDED or (found.settled and found.state == "FAILED"):
            return True
        if not found.settled:
            return ask and now - markers.ended >= CAUSE_WAIT
    if one.answer is None:
        return found.settled and one.asked is not None  # cancelled, and gone from the queue
    ended = one.answer.end if one.answer.end is not None else number(one.seen.get("since"))
    return found.settled and ended is not None and now - ended >= SETTLING


def _seal(run: RunDirectory, found: RunStatus, now: float) -> RunStatus:
    """Write `final.json` and `outputs.json`, return the sealed state; a directory that cannot be written stays open."""
    hosts = events.hosts(run.path, found.attempt) or found.hosts
    found = replace(found, hosts=hosts, settled=True, sealed=True, stale_seconds=None, problem="")
    final = {**found.to_json(), "sealed": now}
    for name in ("run_id", "settled", "stale_seconds", "problem"):
        del final[name]
    if not _unsealed(run):
        return replace(found, sealed=False)
    try:
        write_json(run.path / "final.json", final)
        (run.path / "final.json").chmod(file_mode(run.path / "client"))
        run.files.appeared("final.json")
    except OSError:
        return replace(found, sealed=False)
    record_if_over(run)
    return found


def _unsealed(run: RunDirectory) -> bool:
    """Return whether a run surely has no seal, or one that is damaged: what cannot be read now may say something else.

    A file server may refuse a file for a moment, or list one that cannot be opened yet.
    """
    there = run.files.kinds()
    return bool(there) and ("final.json" not in there or run.files.read("final.json") is not None)


def _keep(run: RunDirectory, seen: dict[str, Any]) -> None:
    """Write `client/seen.json`; a full disk or a foreign directory costs only the memory of this answer."""
    with suppress(OSError):
        run.write_client("seen", seen)
