"""What one run used: each life of its job with nodes and seconds, by its own markers or by the scheduler's account.

The job script writes `started` as its first act and `ended` as its last: on Slurm the two are within a second of what
accounting says. Without `ended` (SIGKILL, a dead node) the scheduler's word counts, where it was ever asked; else the
end is not known, and the life counts to where it can have ended at the latest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hackathon.jobs.cost import running_seconds
from hackathon.runs.directory import RunDirectory
from hackathon.runs.events import job_events
from hackathon.runs.markers import finite, read_final, read_markers, whole
from hackathon.runs.states import ENDED, ENDING, FAILED, HELD, QUEUED, RUNNING, SUCCEEDED, UNCERTAIN, RunStatus
from hackathon.runs.status import job_state, status
from hackathon.schedulers.base import OPEN_STATES

if TYPE_CHECKING:
    from hackathon.schedulers.accounting import Account

SCHEDULER, MARKERS, LIMIT = "scheduler", "markers", "limit"
"""Where a life's length is from; LIMIT: its end is not known, it counts to the latest that is possible."""
BASES = (SCHEDULER, MARKERS, LIMIT)
GOING, NO_END, UNCLEAR = "running", "no_end", "unclear"
"""Runs that go on; whose end nobody saw (LOST, or silent beyond the walltime); of which it is not known whether a job
came of them (UNCERTAIN)."""
MOST_NODES, MOST_GPUS = 100_000, 64
"""Nodes of a job, GPUs of a node: no machine has more, and a record that says so is wrong."""
LONGEST = 400 * 86400.0
"""Seconds that a job can take where no walltime is known."""
OVER = 3600.0
"""Seconds beyond the walltime that a scheduler may leave a job; markers that are farther apart had another clock."""
SILENT = 600.0
"""Seconds after its walltime in which a job without `ended` may still be ending."""


@dataclass(frozen=True, slots=True)
class Life:
    """A job from its start to its end; a requeue begins another life."""

    start: float
    """Seconds since 1970."""
    end: float
    """The same; of a life that goes on: the time of looking."""
    seconds: float
    """How long nodes were held; less than end − start when it was suspended."""
    nodes: int
    gpus: int | None
    """Of all nodes together, where the scheduler accounts for them; None: as many as the run was given."""
    basis: str
    """One of BASES."""


@dataclass(frozen=True, slots=True)
class RunUse:
    """What is known about what a run used."""

    id: str
    cluster: str
    scheduler: str
    job_id: str
    team: str
    """The team that its record names."""
    user: int
    """Owner of the folder (uid)."""
    nodes: int
    gpus_per_node: int
    processes_per_node: int
    walltime: int
    """Seconds; 0 is not known."""
    created: float
    adopted: bool = False
    lives: tuple[Life, ...] = ()
    state: str = ""
    """GOING, NO_END, UNCLEAR, or empty."""
    waiting: bool = False
    """Whether the job is in the queue, or may be."""
    closed: bool = False
    """Nothing here can change any more, unless the job is requeued: then its events change."""
    odd: str = ""
    """What of its record can not be true: clock, long, nodes; empty for nothing."""

    def still(self) -> float:
        """Return the seconds that its job can still take at most, from the time of looking on."""
        if self.waiting:
            return float(self.walltime)
        if self.state != GOING or not self.lives:
            return 0.0
        return max(0.0, self.walltime - self.lives[-1].seconds)

    def going(self, now: float) -> "RunUse":
        """Return the use with a life that goes on counted until now."""
        if self.state != GOING or not self.lives:
            return self
        last = self.lives[-1]
        seconds = running_seconds(last.start, now, float(self.walltime))
        return replace(self, lives=(*self.lives[:-1], replace(last, end=last.start + seconds, seconds=seconds)))


def use_of(run: RunDirectory, now: float) -> RunUse:
    """Return what a run used as its own folder tells it, until `now` (seconds since 1970) where it goes on.

    Nothing is written and no scheduler is asked. Raises RequestError (no readable record) and OSError.
    """
    record = run.record()
    owner = run.path.stat().st_uid
    final = read_final(run)
    state = RunStatus.from_final(run.id, final) if final is not None else _open_state(run, now)
    adopted = {} if record.get("launcher") else run.client("adopted")  # a job that was submitted by hand has none
    seen = {} if state.state == SUCCEEDED and not adopted else run.client("seen")
    if adopted and not seen and isinstance(adopted.get("job"), dict):
        seen = {**adopted["job"], "t": adopted.get("t")}
        known = job_state(seen)
        if final is None and known is not None and known.state not in OPEN_STATES:
            state = replace(state, state=SUCCEEDED, t_started=known.start, t_ended=known.end)
    nodes, gpus, odd = _size(record, state, adopted=bool(adopted))
    made = RunUse(
        id=run.id,
        cluster=_text(record.get("cluster")),
        scheduler=_text(record.get("scheduler")),
        job_id=_text(state.job_id) or "",
        team=_text(record.get("team")),
        user=owner,
        nodes=nodes,
        gpus_per_node=gpus,
        processes_per_node=_count(record.get("processes_per_node")) or gpus,
        walltime=min(_count(record.get("walltime")), int(LONGEST)),
        created=_moment(state.t_created) or run.created,
        adopted=bool(adopted),
        waiting=state.state in (QUEUED, HELD) and not run.client("cancelled") and "absent_since" not in seen,
        odd=odd,
    )
    return _with_lives(made, run, state, seen, now)


def _open_state(run: RunDirectory, now: float) -> RunStatus:
    """Return the state of a run that is not sealed; why one has failed is not looked for."""
    markers = read_markers(run)
    if markers.ended is None or (markers.exit_code != 0 and run.client("seen").get("state") in (QUEUED, HELD)):
        return status([run], ask=False, now=now, write=False)[0]
    return RunStatus(
        run.id, SUCCEEDED if markers.exit_code == 0 else FAILED, job_id=markers.job_id, attempt=markers.attempt,
        t_created=markers.created, t_started=markers.started, t_ended=markers.ended,
    )  # fmt: skip


def with_account(use: RunUse, account: "Account", now: float) -> RunUse:
    """Return the use by the scheduler's account; lives that it no longer has stay as the markers have them.

    A charge for another job's name is passed over: numbers of jobs begin anew when a site's database does.
    """
    name = "" if use.adopted else f"hk-{use.id[-8:]}"
    charges = [each for each in account.charges if not name or not each.name or each.name == name]
    if account.charges and not charges:
        return use
    lives = [] if account.whole else list(use.lives[: -len(charges)] if charges else use.lives)
    going = False
    for charge in charges:
        end = charge.end
        if end is None:
            going = True
            seconds = running_seconds(charge.start, now, float(use.walltime))
            end = charge.start + seconds
        else:
            seconds = max(0.0, end - charge.start) if charge.seconds is None else charge.seconds
        lives.append(Life(charge.start, max(end, charge.start), seconds, charge.nodes, charge.gpus, SCHEDULER))
    state = GOING if going else "" if charges or not use.lives else use.state
    return replace(use, lives=tuple(lives), state=state, odd="", waiting=use.waiting and not charges)


def _with_lives(use: RunUse, run: RunDirectory, state: RunStatus, seen: dict[str, Any], now: float) -> RunUse:
    """Return the use with its lives, the latest one as the state has it."""
    if state.state == UNCERTAIN:
        return replace(use, state=UNCLEAR)
    sealed_first = state.sealed and state.attempt == 1
    attempts = [] if sealed_first else _attempts(run)
    started = _moment(state.t_started) or (attempts[-1][0] if attempts else None)
    if started is None:
        return replace(use, closed=state.sealed)
    lives: list[Life] = []
    odd = use.odd

    def add(start: float, end: float, basis: str) -> None:
        nonlocal odd
        seconds, word = _length(start, end, use.walltime, now)
        odd = odd or word
        lives.append(Life(start, start + seconds, seconds, use.nodes, None, basis))

    for (begin, end), (after, _) in pairwise(attempts):
        add(begin, end or _latest(begin, after, use.walltime), LIMIT if end is None else MARKERS)
    told = _told(seen, state)
    ended = (_moment(state.t_ended) if state.state in ENDED else None) or (attempts[-1][1] if attempts else None)
    if told is not None:
        add(*told, SCHEDULER)
    elif ended is not None:
        add(started, ended, MARKERS)
    elif state.state in (RUNNING, ENDING) and (not use.walltime or now < started + use.walltime + SILENT):
        add(started, started + running_seconds(started, now, float(use.walltime)), MARKERS)
        return replace(use, lives=tuple(lives), state=GOING, odd=odd)
    else:
        # nobody saw the end: it came before the scheduler missed the job or had it in the queue again, and its walltime
        again = seen.get("since") if state.state in (QUEUED, HELD) else None
        moments = (finite(seen.get("absent_since")), finite(again), now)
        missed = [each for each in moments if each is not None and each >= started]
        latest = min([*missed, started + use.walltime] if use.walltime else missed, default=started)
        add(started, latest, LIMIT)
        return replace(use, lives=tuple(lives), state=NO_END if state.state not in ENDED else "", odd=odd)
    closed = state.sealed or (bool(attempts) and attempts[-1][1] is not None and not use.waiting)
    return replace(use, lives=tuple(lives), odd=odd, closed=closed)


def _told(seen: dict[str, Any], state: RunStatus) -> tuple[float, float] | None:
    """Return start and end of the latest attempt in the scheduler's words, where it was asked after the end."""
    job = job_state(seen)
    if job is None or job.state in OPEN_STATES or state.state not in ENDED:
        return None
    if "attempt" in seen and whole(seen["attempt"]) != state.attempt:
        return None
    start, end = _moment(job.start), _moment(job.end)
    return (start, end) if start is not None and end is not None and end >= start else None


def _attempts(run: RunDirectory) -> list[tuple[float, float | None]]:
    """Return (started, ended) of every attempt in the job's events, in their order."""
    found: dict[int, tuple[float, float | None]] = {}
    for event in job_events(run.path):
        kind, attempt, moment = event.get("event"), whole(event.get("attempt", 1)), _moment(event.get("t"))
        if attempt is None or moment is None:
            continue
        if kind == "started":
            found[attempt] = (moment, None)
        elif kind == "ended" and attempt in found:
            found[attempt] = (found[attempt][0], moment)
    return [found[number] for number in sorted(found)]


def earlier_seconds(run: RunDirectory, walltime: int, now: float) -> float:
    """Return how long attempts before the latest one held the nodes, by the job's events."""
    attempts = _attempts(run)
    ends = [end or _latest(begin, after, walltime) for (begin, end), (after, _) in pairwise(attempts)]
    return sum(_length(begin, end, walltime, now)[0] for (begin, _), end in zip(attempts, ends, strict=False))


def _latest(begin: float, after: float, walltime: int) -> float:
    """Return where an attempt without `ended` can have ended at the latest: before the next one, and its walltime."""
    return min(after, begin + walltime) if walltime else after


def _length(start: float, end: float, walltime: int, now: float) -> tuple[float, str]:
    """Return the seconds of a life, and what can not be true of it: `clock` or `long`."""
    if end < start or start > now + OVER:
        return 0.0, "clock"
    seconds = end - start
    if walltime and seconds > walltime + OVER:
        return float(walltime), "long"
    return (LONGEST, "long") if seconds > LONGEST else (seconds, "")


def _size(record: dict[str, Any], state: RunStatus, *, adopted: bool) -> tuple[int, int, str]:
    """Return nodes, GPUs of a node, and `nodes` where the record can not be true: then the hosts count that are known.

    A job that was adopted while it waited had no hosts then.
    """
    nodes, gpus = _count(record.get("nodes")), _count(record.get("gpus_per_node"))
    if adopted:
        nodes = max(nodes, len(state.hosts))
    odd = "" if 0 < nodes <= MOST_NODES and gpus <= MOST_GPUS else "nodes"
    return (nodes if 0 < nodes <= MOST_NODES else max(1, len(state.hosts))), (gpus if gpus <= MOST_GPUS else 0), odd


def _count(value: object) -> int:
    found = whole(value)
    return found if found is not None and 0 <= found < 10**12 else 0


def _moment(value: object) -> float | None:
    """Return seconds since 1970 as this toolkit's clocks can have them, None for anything else."""
    found = finite(value)
    return found if found is not None and 0 < found < 1e11 else None


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def scheduled(uses: Sequence[RunUse]) -> dict[tuple[str, str], list[int]]:
    """Return (scheduler, cluster) → positions of the runs whose jobs a scheduler can be asked about."""
    found: dict[tuple[str, str], list[int]] = {}
    for position, use in enumerate(uses):
        if use.job_id and use.scheduler and not use.job_id.startswith("by-hand."):
            found.setdefault((use.scheduler, use.cluster), []).append(position)
    return found
