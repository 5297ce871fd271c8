"""The input of a checklist: the project, its event, its runs and the small job, read once."""

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.permissions import Account, account
from hackathon.board.entry import clean_line
from hackathon.readiness.probe import NodeReport, told_by
from hackathon.readiness.wanted import ProbeTask, wanted_of
from hackathon.runs.directory import RunDirectory, find_runs
from hackathon.runs.states import SUCCEEDED, RunStatus
from hackathon.text.errors import HackathonError
from hackathon.text.told import Told

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team
    from hackathon.config.recipe import Data
    from hackathon.jobs.resolve import Sources

NAMES = ("account", "environment", "data", "job", "check", "baseline", "tutors")
"""The points of a checklist, in the order in which a team completes them."""
MOST_RUNS = 200
"""Newest runs of a project that are read."""


@dataclass(frozen=True)
class ChecklistItem:
    """One point of a checklist."""

    name: str
    """One of NAMES."""
    ok: bool | None
    """None: it could not be checked."""
    told: tuple[Told | str, ...]
    """The evidence in sentences; those without an id are other people's words."""
    remedy: str = ""
    """A command, or an instruction; empty if there is nothing to do."""
    facts: dict[str, str | float | bool] = field(default_factory=dict)

    @property
    def evidence(self) -> str:
        """The evidence as one line in the current language."""
        return clean_line("; ".join(map(str, self.told)))


@dataclass(frozen=True)
class Situation:
    """The facts from which all points are decided."""

    sources: "Sources"
    account: Account
    event: "Event | None" = None
    team: "Team | None" = None
    """The account's team in the event."""
    entries: "Sequence[Data]" = ()
    """The data that the project declares."""
    wanted: ProbeTask = field(default_factory=ProbeTask)
    runs: Sequence[tuple[RunDirectory, RunStatus]] = ()
    """The project's runs with their states, newest first."""
    probe: tuple[RunDirectory, RunStatus] | None = None
    """The small job's run."""
    told: NodeReport | None = None
    """Its report."""
    refused: HackathonError | None = None
    """Why it could not be submitted."""

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.sources.runs.parent


def team_of(event: "Event | None", user: str) -> "Team | None":
    """Return the first team of an event that an account is a member of."""
    teams = event.teams if event else ()
    return next((team for team in teams if user in team.accounts), None)


def current_account() -> Account:
    """Return the account of this process, with the groups that the process has."""
    uid = os.geteuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid {uid}"
    return Account(user, uid, frozenset({os.getegid(), *os.getgroups()}))


def wanted_by(sources: "Sources") -> "tuple[Sequence[Data], ProbeTask]":
    """Return the data that a project declares, and its job's task."""
    from hackathon.jobs.resolve import wanted_data

    entries = wanted_data(sources.recipe, sources.project)
    return entries, wanted_of(sources, entries)


def situation(
    sources: "Sources",
    *,
    event: "Event | None" = None,
    job: RunDirectory | None = None,
    refused: HackathonError | None = None,
    wanted: "tuple[Sequence[Data], ProbeTask] | None" = None,
) -> Situation:
    """Return the situation of a project for the current account.

    `job`: the run of the small job; without it the newest one of the project on this cluster counts, unless `refused`
    says why there could be none. `event`: for a project outside any event, the event beside the board.
    """
    from hackathon.runs.status import status

    me = current_account()
    event = sources.event or event
    entries, looked = wanted if wanted is not None else wanted_by(sources)
    runs = find_runs(sources.runs)[:MOST_RUNS]
    states = [pair for pair in zip(runs, status(runs), strict=True) if _readable(pair[0])]
    probes = [pair for pair in states if pair[0].record().probe and _here(pair[0], sources)]
    if job is not None:
        probes = [pair for pair in probes if pair[0] == job]
    probe = probes[0] if probes and refused is None else None
    over = probe is not None and probe[1].state == SUCCEEDED
    return Situation(
        sources=sources,
        account=me,
        event=event,
        team=team_of(event, me.user),
        entries=entries,
        wanted=looked,
        runs=[pair for pair in states if not pair[0].record().probe],
        probe=probe,
        told=told_by(probe[0].path) if probe and over else None,
        refused=refused,
    )


def tutors_of(team: "Team | None") -> tuple[list[Account], list[str]]:
    """Return a team's tutors as accounts of this machine, and the names of those without an account."""
    tutors, unknown = [], []
    for user in dict.fromkeys(team.tutors if team else ()):
        tutor = account(user)
        if tutor is None:
            unknown.append(user)
        else:
            tutors.append(tutor)
    return tutors, unknown


def _readable(run: RunDirectory) -> bool:
    return run.known().readable


def _here(run: RunDirectory, sources: "Sources") -> bool:
    return run.record().cluster == sources.cluster.name
