"""Recent runs in trouble, grouped into matters: the runs of one team with one cause."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from hackathon.board.board import masked
from hackathon.board.people import People
from hackathon.config.rule import tells_failures_apart
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.runs.states import CANCELLED, HELD, OPEN, SUCCEEDED
from hackathon.web.views.board import line
from hackathon.web.views.cluster import cores
from hackathon.web.views.trouble import KINDS, SILENT, kind_of, moment, since

OLD = 3600.0
"""Seconds after its end in which a run's trouble is displayed; later it is collapsed."""

Matter = tuple[str, str, str]
"""Team (or the project's folder), kind and cause."""


class RunTrouble(NamedTuple):
    """Runs of one team in the same trouble with the same cause."""

    kind: str
    run: RunEntry
    """The run that represents all."""
    runs: tuple[RunEntry, ...]
    """All of them, newest first."""
    newer: str
    """As NowItem.newer."""
    matter: Matter

    def old(self, now: float) -> bool:
        """Return whether it ended more than an hour ago; False for an unfinished run."""
        return all(run.state not in OPEN and moment(run) < now - OLD for run in self.runs)


class Troubles:
    """Finds troubles among recent runs."""

    def __init__(self, source: Catalog, people: People, recent: Sequence[RunEntry]) -> None:
        self._source, self._now, self._people = source, source.now, people
        self._good: dict[tuple[str, str, str], float] = {}
        self._newer: dict[tuple[str, str, str], RunEntry] = {}
        for run in recent:
            created = run.created or 0.0
            if run.state == SUCCEEDED:
                self._good[_same(run)] = max(created, self._good.get(_same(run), 0.0))
            elif run.state in OPEN:
                other = self._newer.get(_same(run))
                if other is None or created > (other.created or 0.0):
                    self._newer[_same(run)] = run
        self._groups: dict[Matter, list[RunEntry]] = {}
        self._matters: dict[tuple[str, str], Matter] = {}
        for run in recent:
            if run.state == CANCELLED or (run.state == SUCCEEDED and moment(run) < self._now - SILENT):
                continue  # most runs: no trouble to find
            kind = self._kind(run)
            if kind:
                matter = (self.team(run) or run.project, kind, cause_of(kind, run))
                self._groups.setdefault(matter, []).append(run)
                self._matters[run.project, run.id] = matter

    def team(self, run: RunEntry) -> str:
        """Return the display name of a run's team; empty if it has none."""
        return line(run.team) or self._people.team(run.user)

    def matter_of(self, run: RunEntry) -> Matter | None:
        """Return the matter of a run; None if it is in no trouble."""
        return self._matters.get((run.project, run.id))

    def runs_of(self, matter: Matter) -> tuple[RunEntry, ...]:
        """Return the runs of a matter, newest first."""
        return tuple(sorted(self._groups[matter], key=lambda run: -(run.created or 0.0)))

    def _kind(self, run: RunEntry) -> str:
        """Return the kind of a run's trouble; empty without one, and if a run of the same name succeeded later."""
        kind = kind_of(run, self._now, lambda: cores(self._source, run.cluster))
        good = self._good.get(_same(run), -1.0)
        over = (kind == "failed" and good > moment(run)) or (run.state == SUCCEEDED and good > (run.created or 0.0))
        return "" if over else kind

    def all(self) -> list[RunTrouble]:
        """Return all troubles, most urgent first."""
        troubles: list[RunTrouble] = []
        for kind in KINDS:
            matters = [matter for matter in self._groups if matter[1] == kind]
            if kind == "failed":
                troubles += self._failed(matters)
            else:
                batch = [self._trouble(_oldest(kind, self._groups[matter]), matter) for matter in matters]
                troubles += sorted(batch, key=lambda trouble: since(trouble.kind, trouble.run) or 0.0)
        return troubles

    def _failed(self, matters: Iterable[Matter]) -> list[RunTrouble]:
        """Return failures: those without a newer try first, and each team's last failure before its earlier ones."""
        latest = [self._trouble(max(self._groups[matter], key=moment), matter) for matter in matters]
        latest.sort(key=lambda trouble: -moment(trouble.run))
        nth: dict[str, int] = {}
        ranked: list[tuple[bool, int, RunTrouble]] = []
        for trouble in latest:
            team = trouble.matter[0]
            nth[team] = nth.get(team, -1) + 1
            ranked.append((bool(trouble.newer), nth[team], trouble))
        return [trouble for *_, trouble in sorted(ranked, key=lambda entry: entry[:2])]

    def _trouble(self, run: RunEntry, matter: Matter) -> RunTrouble:
        newer = self._newer.get(_same(run)) if matter[1] == "failed" else None
        again = newer.state if newer is not None and (newer.created or 0.0) >= (run.created or 0.0) else ""
        return RunTrouble(matter[1], run, self.runs_of(matter), again, matter)


def cause_of(kind: str, run: RunEntry) -> str:
    """Return a key of the cause of a run's trouble; the run's name is not part of it."""
    if kind == "waits":
        return "never" if run.cause == "never_runs" else "held" if run.state == HELD else kind
    if kind == "warned":
        return "check" if run.check_passed is False else _words(str(run.warnings[-1]))
    if kind != "failed":
        return kind
    if run.rule and tells_failures_apart(run.rule):
        return run.rule
    diagnosis = run.told_in("en")
    if diagnosis is None:
        # a key of its own, because two unknown causes need not be the same
        return f"{run.state} {run.project} {run.id}"
    return f"{run.state} {run.part} {_words(diagnosis.evidence or diagnosis.message)}"


@lru_cache(4096)
def _words(text: str) -> str:
    return masked(text[:600])


def _same(run: RunEntry) -> tuple[str, str, str]:
    return run.project, run.user, run.name


def _oldest(kind: str, runs: Sequence[RunEntry]) -> RunEntry:
    """Return the run that represents all: one that can never run, else the one that has been in trouble longest."""
    return min(runs, key=lambda run: (run.cause != "never_runs", since(kind, run) or 0.0))
