"""Compute when a run's job held its nodes: the lives of the job, by its events or by the scheduler's accounting.

The job script writes `started` first and `ended` last: on Slurm both are within a second of the accounting. Without
`ended` (SIGKILL, a dead node) the scheduler's answer counts, if there is one. Otherwise the end is unknown, and the
life counts until its latest possible end.

`RunUse` holds the facts, which change only with the run's files. `RunUse.held` computes the lives from them; all hours
of a run come from it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hackathon.jobs.cost import gpus_given, running_seconds
from hackathon.runs.job_owner import FOREIGN, UNNAMED
from hackathon.runs.load import RunLoad
from hackathon.runs.states import CREATED, ENDED, ENDING, RUNNING, UNCERTAIN
from hackathon.schedulers.registry import known_dialect
from hackathon.schedulers.reports import JobAccounting

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

SCHEDULER, MARKERS, LIMIT = "scheduler", "markers", "limit"
"""Source of a life's length; LIMIT: the end is unknown, and the latest possible one counts."""
BASES = (SCHEDULER, MARKERS, LIMIT)
NOT_THE_RUNS = FOREIGN | {UNNAMED}
"""Words of `runs.job_owner` for charges that do not count for a run."""
GOING, NO_END, UNCLEAR = "running", "no_end", "unclear"
"""Running; ended without a record (LOST, or silent beyond the walltime); possibly never submitted (UNCERTAIN)."""
MOST_NODES, MOST_GPUS = 100_000, 64
"""Limits on the nodes of a job and the GPUs of a node: a record beyond them is wrong."""
LONGEST = 400 * 86400.0
"""Seconds that a job can take without a known walltime."""
OVER = 3600.0
"""Seconds beyond the walltime that a scheduler may allow; events farther apart come from different clocks."""
SILENT = 600.0
"""Seconds after its walltime in which a job without `ended` may still be ending."""


@dataclass(frozen=True, slots=True)
class Life:
    """A job from its start to its end; a requeue begins another life."""

    start: float
    """Seconds since 1970."""
    end: float
    """Seconds since 1970; for a running job, the current time."""
    seconds: float
    """How long nodes were held; less than end − start when the job was suspended."""
    nodes: int
    gpus: int | None
    """On all nodes together, by the scheduler's accounting; None: as many as the run was given."""
    basis: str
    """One of BASES."""


@dataclass(frozen=True, slots=True)
class Held:
    """The lives of a run's job at one moment."""

    lives: tuple[Life, ...] = ()
    state: str = ""
    """GOING, NO_END, UNCLEAR, or empty."""
    waiting: bool = False
    """Whether the job is or may be in the queue."""
    odd: str = ""
    """What is impossible in its record: clock, long, nodes; empty for nothing."""

    @property
    def seconds(self) -> float:
        """How long all lives together held the nodes."""
        return math.fsum(life.seconds for life in self.lives)

    def still(self, walltime: int) -> float:
        """Return the seconds for which the job can still run at most."""
        if self.waiting:
            return float(walltime)
        if self.state != GOING or not self.lives:
            return 0.0
        return max(0.0, walltime - self.lives[-1].seconds)


@dataclass(frozen=True, slots=True)
class RunUse:
    """The facts from which the lives of a run's job are computed."""

    id: str
    cluster: str
    scheduler: str
    job_id: str
    team: str
    """The team in its record."""
    user: int
    """Owner of the folder (uid)."""
    nodes: int
    gpus_per_node: int
    gpus_wanted: int
    """GPUs per node that its ranks use."""
    walltime: int
    """Seconds; 0 means unknown."""
    created: float
    queue: str = ""
    adopted: bool = False
    removed: bool = False
    """It was deleted by a clean-up: only its record and its times remain."""
    state: str = CREATED
    """One of runs.states.STATES."""
    sealed: bool = False
    attempts: tuple[tuple[float, float | None], ...] = ()
    """(started, ended) of each attempt by the job's events or the seal; the latest one last."""
    said: tuple[float, float] | None = None
    """Start and end of the latest attempt by the scheduler, if it was asked after the end."""
    missed: float | None = None
    """When the scheduler first missed the job of the latest attempt, or had it in the queue again."""
    waiting: bool = False
    size_odd: bool = False
    """Whether the record's number of nodes or GPUs is impossible."""
    account: JobAccounting | None = None
    """The scheduler's accounting, which replaces the events."""
    asked: bool = False
    """Whether the scheduler's accounting is final."""
    doubt: tuple[str, str] | None = None
    """Why its job may not be its own (a word of runs.job_owner), and that job's owner or name."""
    load: RunLoad | None = None
    """What its job made of the nodes; None if nobody looked."""

    @property
    def closed(self) -> bool:
        """Whether the use is final unless the job is requeued, which changes its events."""
        ended = bool(self.attempts) and self.attempts[-1][1] is not None and not self.waiting
        return self.sealed or (ended and self.state != UNCERTAIN)

    def held(self, now: float) -> Held:
        """Return the lives until `now` (seconds since 1970), by the scheduler's accounting if it is known."""
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
            # the end is not recorded: it came before the scheduler missed or requeued the job, and within its walltime
            limits = [limit for limit in (self.missed, now) if limit is not None and limit >= started]
            add(started, min([*limits, started + self.walltime] if self.walltime else limits, default=started), LIMIT)
            state = "" if self.state in ENDED else NO_END
        return Held(tuple(lives), state, self.waiting, odd)

    def _by_account(self, account: JobAccounting, by_markers: Held, now: float) -> Held:
        """Return the lives by the accounting; lives that it no longer lists stay as in the events."""
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
    """Return the GPUs of all nodes that a life held; an adopted job has no request with more information."""
    return still_gpus(use, profile) * life.nodes if life.gpus is None else life.gpus


def still_gpus(use: RunUse, profile: "Cluster | None") -> int:
    """Return the GPUs per node that a run's job was given or waits for."""
    if not use.adopted:
        return gpus_given(use.gpus_per_node, use.gpus_wanted, profile, queue=use.queue or None, nodes=use.nodes)
    if profile is None or not known_dialect(profile).whole_nodes or not isinstance(profile.node.gpus, int):
        return 0
    return profile.node.gpus


def counted_twice(uses: Iterable[tuple[str, RunUse]]) -> dict[str, str]:
    """Return key of a run → the id of the run that already counts its job.

    `uses`: (key, use) of all runs that are counted together. An adopted job counts once: for the run that submitted it,
    else for the first run that adopted it. A job that two runs of one account name for the same time counts once, too.
    Job numbers restart, and no account can hide another one's run by naming its job.
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
    """Return whether two runs with the same job id have one owner and held nodes at the same time."""
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
    """Return (scheduler, cluster) → positions of the runs whose jobs a scheduler can report on."""
    positions: dict[tuple[str, str], list[int]] = {}
    for position, use in enumerate(uses):
        if use.job_id and use.scheduler and not use.job_id.startswith("by-hand."):
            positions.setdefault((use.scheduler, use.cluster), []).append(position)
    return positions


def _latest(begin: float, after: float, walltime: int) -> float:
    """Return the latest possible end of an attempt without `ended`: the next attempt, or its walltime."""
    return min(after, begin + walltime) if walltime else after


def _length(start: float, end: float, walltime: int, now: float) -> tuple[float, str]:
    """Return the seconds of a life, and what is impossible in it: `clock` or `long`."""
    if end < start or start > now + OVER:
        return 0.0, "clock"
    seconds = end - start
    if walltime and seconds > walltime + OVER:
        return float(walltime), "long"
    return (LONGEST, "long") if seconds > LONGEST else (seconds, "")
