"""Divide the use of runs by team, day, account and cluster."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.index.members import Members
from hackathon.index.uses import Counted
from hackathon.runs.lives import BASES, GOING, NO_END, UNCLEAR, gpus_of
from hackathon.schedulers.registry import load_cluster
from hackathon.text.errors import HackathonError
from hackathon.usage.days import by_day, day_of

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster


@dataclass(frozen=True)
class UsageRow:
    """The use of one account's jobs in one day on one cluster. Sums are made of rows."""

    team: str
    """A team of hackathon.yaml, the name in the run's record, or empty."""
    day: str
    """For example 2019-01-24, in the usage's time zone; empty if days are not separated."""
    user: str
    """The account that owns the runs."""
    cluster: str
    node_seconds: float
    gpu_seconds: float
    bases: tuple[str, ...]
    """The sources of the lengths: scheduler, markers, limit."""
    jobs: frozenset[str]
    """Runs that used nodes that day."""
    running: frozenset[str] = frozenset()
    """Runs that have not ended, counted until now."""
    no_end: frozenset[str] = frozenset()
    """Runs whose end is not recorded, counted to the latest possible moment."""
    unclear: frozenset[str] = frozenset()
    """Runs that may or may not have become a job; not counted."""


class Profiles:
    """Profiles of clusters by name, each read once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = list(folders)
        self.known: dict[str, Cluster | None] = {}

    def get(self, name: str) -> "Cluster | None":
        """Return a profile; None if it does not exist or cannot be read."""
        if name not in self.known:
            try:
                self.known[name] = load_cluster(name, self._folders)
            except HackathonError:
                self.known[name] = None
        return self.known[name]


def divided(
    runs: Iterable[Counted],
    twice: Mapping[str, str],
    members: Members,
    profiles: Profiles,
    now: float,
    since: float | None = None,
    until: float | None = None,
    *,
    days: bool = True,
) -> tuple[UsageRow, ...]:
    """Return the rows of the time between two moments; runs that have not ended count until `now`.

    `twice` (key → other run): jobs that are counted for another run. With `days` false, days are not separated.
    """
    begin, end = -math.inf if since is None else since, math.inf if until is None else until
    cells: dict[tuple[str, str, str, str], _Cell] = {}
    for run in runs:
        use = run.use
        if twice and run.key in twice:
            continue
        holding = use.held(now)
        if not holding.lives and holding.state != UNCLEAR:
            continue
        key, team, user = run.key, members.team_of_run(run.project, use), members.account(use.user)
        if holding.state == UNCLEAR and begin <= use.created < end:
            at = (team, day_of(use.created) if days else "", user, use.cluster)
            cells.setdefault(at, _Cell()).unclear.add(key)
        for life in holding.lives:
            gpus = gpus_of(use, life, profiles.get(use.cluster))
            state = holding.state if life is holding.lives[-1] else ""
            parts = by_day(life, begin, end) if days else [("", life.seconds)]
            for day, seconds in parts:
                cell = cells.setdefault((team, day, user, use.cluster), _Cell())
                cell.add(key, seconds, life.nodes, gpus, life.basis, state)
    return tuple(cells[at].row(*at) for at in sorted(cells))


class _Cell:
    def __init__(self) -> None:
        self._nodes: list[float] = []
        self._gpus: list[float] = []
        self._bases: set[str] = set()
        self._jobs: set[str] = set()
        self._running: set[str] = set()
        self._no_end: set[str] = set()
        self.unclear: set[str] = set()

    def add(self, key: str, seconds: float, nodes: int, gpus: int, basis: str, state: str) -> None:
        self._nodes.append(seconds * nodes)
        self._gpus.append(seconds * gpus)
        self._bases.add(basis)
        self._jobs.add(key)
        if state == GOING:
            self._running.add(key)
        elif state == NO_END:
            self._no_end.add(key)

    def row(self, team: str, day: str, user: str, cluster: str) -> UsageRow:
        """Return the sums as a row."""
        return UsageRow(
            team, day, user, cluster,
            node_seconds=math.fsum(self._nodes),
            gpu_seconds=math.fsum(self._gpus),
            bases=tuple(basis for basis in BASES if basis in self._bases),
            jobs=frozenset(self._jobs),
            running=frozenset(self._running),
            no_end=frozenset(self._no_end),
            unclear=frozenset(self.unclear),
        )  # fmt: skip
