"""When a run's job held its nodes: the lives of the job, by its own markers or by the scheduler's account.

The job script writes `started` as its first act and `ended` as its last: on Slurm the two are within a second of what
accounting says. Without `ended` (SIGKILL, a dead node) the scheduler's word counts, where it was ever asked; else the
end is not known, and the life counts to where it can have ended at the latest.

`RunUse` holds the facts, which change only with the run's files; `RunUse.held` makes the lives from them, the one place
where the hours of a run come from.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hackathon.jobs.cost import gpus_given, running_seconds
from hackathon.runs.job_owner import FOREIGN, UNNAMED
from hackathon.runs.states import CREATED, ENDED, ENDING, RUNNING, UNCERTAIN
from hackathon.schedulers.accounting import JobAccounting
from hackathon.schedulers.profiles import known_dialect

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

SCHEDULER, MARKERS, LIMIT = "scheduler", "markers", "limit"
"""Where a life's length is from; LIMIT: its end is not known, it counts to the latest that is possible."""
BASES = (SCHEDULER, MARKERS, LIMIT)
NOT_THE_RUNS = FOREIGN | {UNNAMED}
"""Words of `runs.job_owner` for charges that do not count for a run."""
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
class Held:
    """The lives of a run's job at one moment."""

    lives: tuple[Life, ...] = ()
    state: str = ""
    """GOING, NO_END, UNCLEAR, or empty."""
    waiting: bool = False
    """Whether the job is in the queue, or may be."""
    odd: str = ""
    """What of its record cannot be true: clock, long, nodes; empty for nothing."""

    @property
    def seconds(self) -> float:
        """How long all lives together held the nodes."""
        return math.fsum(life.seconds for life in self.lives)

    def still(self, walltime: int) -> float:
        """Return the seconds that the job can still take at most, from the time of looking on."""
        if self.waiting:
            return float(walltime)
        if self.state != GOING or not self.lives:
            return 0.0
        return max(0.0, walltime - self.lives[-1].seconds)


@dataclass(frozen=True, slots=True)
class RunUse:
    """The facts from which the lives of a run's job are made."""

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
    gpus_wanted: int
    """GPUs of a node that its ranks use."""
    walltime: int
    """Seconds; 0 is not known."""
    created: float
    queue: str = ""
    adopted: bool = False
    removed: bool = False
    """It was cleaned up: only its record and its times are left."""
    state: str = CREATED
    """One of runs.states.STATES."""
    sealed: bool = False
    attempts: tuple[tuple[float, float | None], ...] = ()
    """(started, ended) of each attempt by the job's markers or the seal; the latest one last."""
    said: tuple[float, float] | None = None
    """Start and end of the latest attempt in the scheduler's words, where it was asked after the end."""
    missed: float | None = None
    """When the scheduler first missed the job of the latest attempt, or had it in the queue again."""
    waiting: bool = False
    size_odd: bool = False
    """Whether the record's number of nodes or GPUs cannot be true."""
    account: JobAccounting | None = None
    """The scheduler's account, in place of the markers."""
    asked: bool = False
    """Whether the scheduler's account is known for good."""
    doubt: tuple[str, str] | None = None
    """Why its job may not be its own (a word of runs.job_owner), and that job's owner or name."""

    @property
    def closed(self) -> bool:
        """Whether nothing here can change any more, unless the job is requeued: then its events change."""
        ended = bool(self.attempts) and self.attempts[-1][1] is not None and not self.waiting
        return self.sealed or (ended and self.state != UNCERTAIN)

    def held(self, now: float) -> Held:
        """Return the lives until `now` (seconds since 1970): by the scheduler's account where it is known."""
        by_markers = self._by_markers(now)
        return by_markers if self.account is None else self._by_account(self.account, by_markers, now)

    def _by_markers(self, now: float) -> Held:
        odd = "nodes" if self.size_odd else ""
        if self.state == UNCERTAIN:
            return Held((), UNCLEAR, self.waiting, odd)
        if not self.attempts:
            return Held((), "", self.waiting, odd)
        lives: list[Life] = []

        def add(start: float, end: float, basis: str) -> None:
            nonlocal odd
            seconds, word = _length(start, end, self.walltime, now)
            odd = odd or word
            lives.append(Life(start, start + seconds, seconds, self.nodes, None, basis))

        for (begin, end), (after, _) in pairwise(self.attempts):
            add(begin, end or _latest(begin, after, self.walltime), LIMIT if end is None else MARKERS)
        started, ended = self.attempts[-1]
        state = ""
        if self.said is not None:
            add(*self.said, SCHEDULER)
        elif ended is not None:
            add(started, ended, MARKERS)
        elif self.state in (RUNNING, ENDING) and (not self.walltime or now < started + self.walltime + SILENT):
            add(started, started + running_seconds(started, now, float(self.walltime)), MARKERS)
            state = GOING
        else:
            # nobody saw the end: it came before the scheduler missed the job or had it in the queue again, and its
            # walltime
            limits = [limit for limit in (self.missed, now) if limit is not None and limit >= started]
            add(started, min([*limits, started + self.walltime] if self.walltime else limits, default=started), LIMIT)
            state = "" if self.state in ENDED else NO_END
        return Held(tuple(lives), state, self.waiting, odd)

    def _by_account(self, account: JobAccounting, by_markers: Held, now: float) -> Held:
        """Return the lives by the account; those that it no longer has stay as the markers have them."""
        charges, before = account.charges, by_markers.lives
        lives = [] if account.whole else list(before[: -len(charges)] if charges else before)
        going = False
        for charge in charges:
            end = charge.end
            if end is None:
                going = True
                seconds = running_seconds(charge.start, now, float(self.walltime))
                end = charge.start + seconds
            else:
                seconds = max(0.0, end - charge.start) if charge.seconds is None else charge.seconds
            nodes = self.nodes if charge.nodes is None else charge.nodes
            lives.append(Life(charge.start, max(end, charge.start), seconds, nodes, charge.gpus, SCHEDULER))
        state = GOING if going else "" if charges or not before else by_markers.state
        return Held(tuple(lives), state, by_markers.waiting and not charges, "")


def gpus_of(use: RunUse, life: Life, profile: "Cluster | None") -> int:
    """Return the GPUs of all nodes that a life held; an adopted job has no request that would say more."""
    return still_gpus(use, profile) * life.nodes if life.gpus is None else life.gpus


def still_gpus(use: RunUse, profile: "Cluster | None") -> int:
    """Return the GPUs of each node that a run's job was given, or waits for."""
    if not use.adopted:
        return gpus_given(use.gpus_per_node, use.gpus_wanted, profile, queue=use.queue or None, nodes=use.nodes)
    if profile is None or not known_dialect(profile).whole_nodes or not isinstance(profile.node.gpus, int):
        return 0
    return profile.node.gpus


def counted_twice(uses: Iterable[tuple[str, RunUse]]) -> dict[str, str]:
    """Return key of a run → the id of the run that its job is counted for already.

    `uses`: (key, use) of all runs that are counted together. A job that was adopted counts once: for the run that
    submitted it, else for the first of those that took it up. So does a job that two runs of an account name for the
    same time; numbers of jobs begin anew, and no account can hide a run of another one by naming its job.
    """
    jobs: dict[tuple[str, str, str], list[tuple[str, RunUse]]] = {}
    for key, use in uses:
        if use.job_id and (use.doubt is None or use.doubt[0] not in NOT_THE_RUNS):
            jobs.setdefault((use.scheduler, use.cluster, use.job_id), []).append((key, use))
    doubles: dict[str, str] = {}
    for same in jobs.values():
        counted: list[tuple[str, RunUse]] = []
        for key, use in sorted(same, key=lambda entry: (entry[1].adopted, entry[1].created, entry[0])):
            first = next((other for other, its in counted if use.adopted or _is_same(its, use)), None)
            if first is None:
                counted.append((key, use))
            else:
                doubles[key] = first.rpartition("//")[2]
    return doubles


def _is_same(use: RunUse, other: RunUse) -> bool:
    """Return whether two runs that name one job are of one account and held nodes at the same time."""
    spans = [(begin, math.inf if end is None else end) for begin, end in _spans(other)]
    return use.user == other.user and any(
        begin < until and since < (math.inf if end is None else end)
        for begin, end in _spans(use)
        for since, until in spans
    )


def _spans(use: RunUse) -> Sequence[tuple[float, float | None]]:
    charges = use.account.charges if use.account is not None else ()
    return [(charge.start, charge.end) for charge in charges] or use.attempts


def scheduled(uses: Sequence[RunUse]) -> dict[tuple[str, str], list[int]]:
    """Return (scheduler, cluster) → positions of the runs whose jobs a scheduler can be asked about."""
    positions: dict[tuple[str, str], list[int]] = {}
    for position, use in enumerate(uses):
        if use.job_id and use.scheduler and not use.job_id.startswith("by-hand."):
            positions.setdefault((use.scheduler, use.cluster), []).append(position)
    return positions


def _latest(begin: float, after: float, walltime: int) -> float:
    """Return where an attempt without `ended` can have ended at the latest: before the next one, and its walltime."""
    return min(after, begin + walltime) if walltime else after


def _length(start: float, end: float, walltime: int, now: float) -> tuple[float, str]:
    """Return the seconds of a life, and what cannot be true of it: `clock` or `long`."""
    if end < start or start > now + OVER:
        return 0.0, "clock"
    seconds = end - start
    if walltime and seconds > walltime + OVER:
        return float(walltime), "long"
    return (LONGEST, "long") if seconds > LONGEST else (seconds, "")
