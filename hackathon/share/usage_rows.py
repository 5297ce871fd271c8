"""Divide what runs used by team, day, account and cluster."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.jobs.cost import gpus_given
from hackathon.share.people import People
from hackathon.share.usage_days import by_day, day_of
from hackathon.share.usage_run import BASES, GOING, NO_END, UNCLEAR, RunUse
from hackathon.text.errors import HackathonError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import Event
    from hackathon.share.usage_read import Read


@dataclass(frozen=True)
class Row:
    """What the jobs of one account used in one day on one cluster. Sums are made of rows."""

    team: str
    """A team of hackathon.yaml, the name that the run's record has, or empty."""
    day: str
    """e.g. 2019-01-24, in the zone of the usage."""
    user: str
    """The account that owns the runs."""
    cluster: str
    node_seconds: float
    gpu_seconds: float
    bases: tuple[str, ...]
    """Where the lengths are from: scheduler, markers, limit."""
    jobs: frozenset[str]
    """Runs that held nodes that day."""
    running: frozenset[str] = frozenset()
    """Those that go on, counted until now."""
    no_end: frozenset[str] = frozenset()
    """Those whose end nobody saw, counted to the latest that is possible."""
    unclear: frozenset[str] = frozenset()
    """Runs of which it is not known whether a job came of them; counted as nothing."""


class Profiles:
    """Profiles of clusters by name, each read once."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = list(folders)
        self.known: dict[str, Cluster | None] = {}

    def get(self, name: str) -> "Cluster | None":
        """Return a profile, None when there is none or it can not be read."""
        if name not in self.known:
            from hackathon.config.load import load_cluster

            try:
                self.known[name] = load_cluster(name, self._folders)
            except HackathonError:
                self.known[name] = None
        return self.known[name]


def team_of(read: "Read", use: RunUse, people: People) -> str:
    """Return whose budget a run is: of the team whose folder it lies in, else of its owner's, else as its record says.

    A record may name any team. It is believed where the owner is in no team and that team has no members written down,
    or is not in hackathon.yaml at all: then it stands in a row of its own.
    """
    if read.project.team:
        return read.project.team
    account = people.account(use.user)
    own = people.team_of(account)
    if own or not use.team:
        return own
    return "" if people.teams.get(use.team) else use.team


def gpus_of(use: RunUse, profile: "Cluster | None") -> int:
    """Return the GPUs of each node that a run's job was given; an adopted one has no request that would say more."""
    if not use.adopted:
        return gpus_given(use.gpus_per_node, use.processes_per_node, profile)
    if profile is None or profile.dialect.gpu_request != "none" or not isinstance(profile.node.gpus, int):
        return 0
    return profile.node.gpus


def divided(
    reads: "Sequence[Read]", event: "Event | None", profiles: Profiles, since: float | None, until: float | None
) -> tuple[tuple[Row, ...], list[str]]:
    """Return the rows of what lies between two moments, and which jobs are there twice, in words.

    A job that was adopted counts once: for the run that submitted it, else for the first of those that took it up.
    """
    people = People(event)
    twice = counted_twice(reads)
    begin, end = -math.inf if since is None else since, math.inf if until is None else until
    cells: dict[tuple[str, str, str, str], _Cell] = {}
    for read in reads:
        for use in read.uses:
            team, user = team_of(read, use, people), people.account(use.user)
            key = f"{read.project.path}//{use.id}"
            if key in twice:
                continue

            def cell(day: str, use: RunUse = use, team: str = team, user: str = user) -> _Cell:
                return cells.setdefault((team, day, user, use.cluster), _Cell())

            if use.state == UNCLEAR and begin <= use.created < end:
                cell(day_of(use.created)).unclear.add(key)
            for life in use.lives:
                gpus = life.nodes * gpus_of(use, profiles.get(use.cluster)) if life.gpus is None else life.gpus
                last = life is use.lives[-1]
                for day, seconds in by_day(life, begin, end):
                    cell(day).add(key, seconds, life.nodes, gpus, life.basis, use.state if last else "")
    rows = tuple(cells[at].row(*at) for at in sorted(cells))
    return rows, [message("usage.twice", run=key.rpartition("//")[2], other=other) for key, other in twice.items()]


def counted_twice(reads: "Sequence[Read]") -> dict[str, str]:
    """Return key of an adopted run → the run that its job is counted for already."""
    jobs: dict[tuple[str, str, str], str] = {}
    found: dict[str, str] = {}
    listed = [(use.adopted, use.created, f"{read.project.path}//{use.id}", use) for read in reads for use in read.uses]
    if not any(adopted for adopted, *_ in listed):
        return {}
    for adopted, _, key, use in sorted(listed, key=lambda each: each[:3]):
        if not use.job_id:
            continue
        first = jobs.setdefault((use.scheduler, use.cluster, use.job_id), key)
        if first != key and adopted:
            found[key] = first.rpartition("//")[2]
    return found


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

    def row(self, team: str, day: str, user: str, cluster: str) -> Row:
        """Return the sums as a row."""
        return Row(
            team, day, user, cluster,
            node_seconds=math.fsum(self._nodes),
            gpu_seconds=math.fsum(self._gpus),
            bases=tuple(basis for basis in BASES if basis in self._bases),
            jobs=frozenset(self._jobs),
            running=frozenset(self._running),
            no_end=frozenset(self._no_end),
            unclear=frozenset(self.unclear),
        )  # fmt: skip
