"""The outcome of the hours that an event used: work, or time lost to failures, standstill and unused GPUs."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.runs.lives import GOING, LIMIT, Life, gpus_of
from hackathon.runs.states import CANCELLED, ENDED, SUCCEEDED

if TYPE_CHECKING:
    from hackathon.index.uses import Counted
    from hackathon.runs.lives import RunUse
    from hackathon.usage.usage import Usage

SUCCESS, IDLE, FAILURE, HANG, CANCEL, RUNNING, UNKNOWN = (
    "success", "idle", "failure", "hang", "cancelled", "running", "unknown",
)  # fmt: skip
CLASSES = (SUCCESS, IDLE, FAILURE, HANG, CANCEL, RUNNING, UNKNOWN)
"""Classes of hours, each of which is in exactly one.

SUCCESS: of runs that succeeded; IDLE: their share of GPUs that never worked. FAILURE: of runs that failed or reached
their walltime, CANCEL: that were cancelled, RUNNING: that go on; HANG: of these three, the time without progress before
the end. UNKNOWN: of lives whose end is not recorded, or after which the scheduler began the job again.
"""
LOST = (IDLE, FAILURE, HANG)


@dataclass(frozen=True)
class Hours:
    """The hours of one team, or of all, on one cluster, by their outcome."""

    cluster: str
    team: str | None = None
    """None if teams are summed together; empty for runs without a team."""
    user: str = ""
    """The account of runs without a team."""
    runs: int = 0
    """Runs that used nodes."""
    node_hours: dict[str, float] = field(default_factory=dict)
    """Class → node-hours; together what the runs used."""
    unjudged: dict[str, int] = field(default_factory=dict)
    """HANG, IDLE → runs whose hours may belong to it, too: what tells was not recorded."""
    judged: dict[str, int] = field(default_factory=dict)
    """HANG, IDLE → runs of which it is known."""
    kwh: dict[str, float] = field(default_factory=dict)
    """Class → energy of the GPUs of runs whose power was recorded."""
    metered: int = 0
    """Number of these runs."""
    queue: float | None = None
    """Node-hours that jobs waited for: nodes × time in the queue. They are not used; None: no wait is known."""
    waits: int = 0
    """Jobs whose wait is known."""

    @property
    def total(self) -> float:
        """The node-hours of all classes."""
        return math.fsum(self.node_hours.values())

    def of(self, name: str) -> float | None:
        """Return the node-hours of a class; None if what would tell was recorded of no run that may have some."""
        if self.unjudged.get(name) and not self.judged.get(name):
            return None
        return self.node_hours.get(name, 0.0)

    @property
    def lost(self) -> float | None:
        """The node-hours of LOST that are known; None if nothing is known of any."""
        known = [hours for name in LOST if (hours := self.of(name)) is not None]
        return math.fsum(known) if known else None

    @property
    def energy(self) -> float | None:
        """The kWh of all runs whose power was recorded; None without any."""
        return math.fsum(self.kwh.values()) if self.metered else None


def hours_of(usage: "Usage") -> list[Hours]:
    """Return the hours by team and cluster, in the order of `Usage.sums`; accounts without a team stay separate.

    The classes of each add up to the node-hours of `Usage.sums`.
    """
    sums: dict[tuple[str, str, str], _Sum] = {}
    for run in usage.runs:
        if usage.twice and run.key in usage.twice:
            continue
        team = usage.members.team_of_run(run.project, run.use)
        user = "" if team else usage.members.account(run.use.user)
        sums.setdefault((team, user, run.use.cluster), _Sum()).add(run, usage)
    order = [(part.team or "", part.user or "", part.cluster) for part in usage.sums("team")]
    ordered = sorted(sums, key=lambda key: order.index(key) if key in order else len(order))
    hours = [sums[key].hours(*key) for key in ordered]
    return [entry for entry in hours if entry.runs or entry.waits]


def by_cluster(hours: Iterable[Hours]) -> list[Hours]:
    """Return the sums by cluster, which are never summed together."""
    groups: dict[str, list[Hours]] = {}
    for entry in hours:
        groups.setdefault(entry.cluster, []).append(entry)
    return [_together(cluster, entries) for cluster, entries in groups.items()]


def _together(cluster: str, entries: Sequence[Hours]) -> Hours:
    queues = [entry.queue for entry in entries if entry.queue is not None]
    unjudged, judged = (
        {name: sum(getattr(entry, kind).get(name, 0) for entry in entries) for name in (HANG, IDLE)}
        for kind in ("unjudged", "judged")
    )
    node_hours, kwh = (
        {name: math.fsum(getattr(entry, kind).get(name, 0.0) for entry in entries) for name in CLASSES}
        for kind in ("node_hours", "kwh")
    )
    return Hours(
        cluster,
        runs=sum(entry.runs for entry in entries),
        node_hours=node_hours,
        unjudged=unjudged,
        judged=judged,
        kwh=kwh,
        metered=sum(entry.metered for entry in entries),
        queue=math.fsum(queues) if queues else None,
        waits=sum(entry.waits for entry in entries),
    )


class _Sum:
    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._kwh: dict[str, list[float]] = {}
        self._queue: list[float] = []
        self._unjudged: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()
        self._runs = self._metered = 0

    def add(self, run: "Counted", usage: "Usage") -> None:
        """Add the hours of a run between the moments of the usage."""
        use = run.use
        begin = -math.inf if usage.since is None else usage.since
        end = math.inf if usage.until is None else usage.until
        held = use.held(usage.now)
        wait = _wait(use, held.lives, usage.now if held.waiting else None)
        waited = max(0.0, min(wait[1], end) - max(wait[0], begin)) if wait is not None else 0.0
        if waited > 0.0:
            self._queue.append(waited * use.nodes)
        parts: Counter[str] = Counter()
        for life in held.lives:
            last = life is held.lives[-1]
            if _within(life, begin, end) > 0.0:
                parts.update(self._parts(use, life, held.state if last else None, (begin, end), usage))
        if not parts:
            return
        self._runs += 1
        for name, seconds in parts.items():
            self._seconds.setdefault(name, []).append(seconds)
        energy = use.load.kwh if use.load is not None else None
        whole = math.fsum(life.seconds * life.nodes for life in held.lives)
        if energy is not None and whole > 0.0:
            self._metered += 1
            for name, seconds in parts.items():
                self._kwh.setdefault(name, []).append(energy * seconds / whole)

    def _parts(
        self, use: "RunUse", life: Life, state: str | None, window: tuple[float, float], usage: "Usage"
    ) -> dict[str, float]:
        """Return class → node-seconds of one life; `state`: that of `Held`, None for a life before the last."""
        seconds = _within(life, *window)
        if state is None or (state and state != GOING) or life.basis == LIMIT:
            return {UNKNOWN: seconds * life.nodes}
        name = RUNNING if state == GOING else _ENDS.get(use.state, FAILURE if use.state in ENDED else UNKNOWN)
        if name == SUCCESS:
            share = self._idle(use, life, usage)
            return {SUCCESS: seconds * life.nodes * (1.0 - share), IDLE: seconds * life.nodes * share}
        if name == UNKNOWN:
            return {UNKNOWN: seconds * life.nodes}
        load = use.load
        known = load is not None and load.output is not None and load.output >= life.start
        (self._judged if known else self._unjudged)[HANG] += 1
        stood = load.stood(life.end) if known and load is not None else 0.0
        hung = _within(life, max(window[0], life.end - stood), window[1]) if stood else 0.0
        return {name: (seconds - hung) * life.nodes, HANG: hung * life.nodes}

    def _idle(self, use: "RunUse", life: Life, usage: "Usage") -> float:
        """Return the share of a life's GPUs that never worked; 0 if it is not known."""
        gpus = gpus_of(use, life, usage.profiles.get(use.cluster))
        if not gpus:
            return 0.0
        load = use.load
        if load is None or load.gpus is None or load.gpus_used is None or load.gpus != gpus:
            self._unjudged[IDLE] += 1
            return 0.0
        self._judged[IDLE] += 1
        return 1.0 - load.gpus_used / load.gpus

    def hours(self, team: str, user: str, cluster: str) -> Hours:
        """Return the sums."""
        return Hours(
            cluster,
            team,
            user,
            self._runs,
            {name: math.fsum(self._seconds.get(name, ())) / 3600 for name in CLASSES},
            dict(self._unjudged),
            dict(self._judged),
            {name: math.fsum(values) for name, values in self._kwh.items()},
            self._metered,
            math.fsum(self._queue) / 3600 if self._queue else None,
            len(self._queue),
        )


_ENDS = {SUCCEEDED: SUCCESS, CANCELLED: CANCEL}


def _within(life: Life, begin: float, end: float) -> float:
    """Return the seconds of a life between two moments, as `usage.days.by_day` divides them."""
    if life.end <= life.start:
        return life.seconds if begin <= life.start < end else 0.0
    return max(0.0, min(life.end, end) - max(life.start, begin)) * life.seconds / (life.end - life.start)


def _wait(use: "RunUse", lives: Sequence[Life], now: float | None) -> tuple[float, float] | None:
    """Return begin and end of a job's time in the queue before its first start; None if it is not known.

    `now`: for a job that waits.
    """
    submitted = use.load.submitted if use.load is not None else None
    end = lives[0].start if lives else now
    return None if submitted is None or end is None or use.adopted else (submitted, end)
