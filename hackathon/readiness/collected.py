"""Checklists of `hackathon ready`: posted by members, collected by team, and verified by the reader's account.

The owner of a checklist's file is its author, so nobody can post for somebody else. The newest of each account counts.

For `event check` and pages:
    teams = collected(board, event)            team's name → TeamReadiness, in the order of hackathon.yaml
    head, rows = table(teams)                  for `cli.show.echo_table`; `words=True` without ✓ and ✗; `legend()` below
    for team, line in lacking(teams): …        the points that a team still has to do, and false claims
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.board.board import Board, read_board
from hackathon.board.directory import open_place
from hackathon.board.entry import Entry, Proof, clean_line
from hackathon.board.people import People
from hackathon.board.store import Owned, write_entry
from hackathon.readiness.confirm import CONFIRMED, NO, REFUTED, TOLD, UNKNOWN, Claims, members_of
from hackathon.readiness.situation import NAMES, ChecklistItem, Situation
from hackathon.text.errors import HackathonError
from hackathon.text.messages import N_, NP_, _
from hackathon.text.paths import expanded
from hackathon.text.told import Told

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

_WORD_TEXTS = {
    "confirmed": NP_("ready", "confirmed"),
    "told": N_("claimed"),
    "unknown": N_("not checked"),
    "no": NP_("ready", "missing"),
    "refuted": N_("contradicted"),
    "nobody": N_("nothing posted"),
}

ITEM_TEXTS = {
    "account": N_("logged in"),
    "environment": N_("environment"),
    "data": N_("data"),
    "job": N_("job"),
    "check": N_("correctness check"),
    "baseline": N_("one-process baseline"),
    "tutors": N_("access for tutors"),
}

_HEAD_TEXTS = {
    "team": N_("team"),
    "account": N_("login"),
    "environment": N_("env"),
    "data": N_("data"),
    "job": N_("job"),
    "check": NP_("ready", "check"),
    "baseline": N_("1 process"),
    "tutors": N_("tutors"),
    "posted": N_("posted"),
}

NOBODY = "nobody"
STATES = (CONFIRMED, TOLD, UNKNOWN, NO, REFUTED, NOBODY)
"""States of a point, the best first: verified; claimed, but not visible from here; not checkable; not done.

Disproved; no member posted a checklist.
"""
DONE = frozenset({CONFIRMED, TOLD})
MARKS = {CONFIRMED: "✓", TOLD: "(✓)", UNKNOWN: "?", NO: "✗", REFUTED: "✗!", NOBODY: "–"}


@dataclass(frozen=True)
class ChecklistPoint:
    """One point of a team's checklist, with its state."""

    name: str
    """One of NAMES."""
    state: str
    """One of STATES."""
    user: str = ""
    """The account that claims it; for `nobody`, the member whose checklist is missing, or empty."""
    time: float = 0.0
    """When the checklist was posted, in seconds since 1970."""
    evidence: str = ""
    """As it was posted; in the current language if possible."""
    why: str = ""
    """Why it is not verified, in the current language."""


@dataclass(frozen=True)
class TeamReadiness:
    """How ready a team is."""

    team: str
    points: dict[str, ChecklistPoint]
    """The members' best state of each of NAMES; for `account` the worst, because everybody has to log in."""
    members: dict[str, tuple[ChecklistPoint, ...]]
    """Account → the points of its newest checklist, in the order of hackathon.yaml; empty without a checklist."""

    @property
    def ready(self) -> bool:
        """Whether every point is done."""
        return all(point.state in DONE for point in self.points.values())

    @property
    def refuted(self) -> list[ChecklistPoint]:
        """Disproved claims of all members."""
        return [point for points in self.members.values() for point in points if point.state == REFUTED]

    def to_json(self) -> dict[str, Any]:
        """Return the readiness as JSON values."""
        members = {user: [asdict(point) for point in points] for user, points in self.members.items()}
        points = [asdict(point) for point in self.points.values()]
        return {"team": self.team, "ready": self.ready, "points": points, "members": members}


def post(board: Board, situation: Situation, items: Sequence[ChecklistItem]) -> Owned:
    """Write the current user's checklist on the board. Raises as `write_entry` does."""
    proofs = tuple(
        Proof(
            item.name,
            item.ok,
            item.evidence,
            {name: _fact(fact) for name, fact in item.facts.items()},
            tuple(clean_line(line) if isinstance(line, str) else _plain(line) for line in item.told),
        )
        for item in items
    )
    entry = Entry("", "ready", 0.0, board.place.board, folder=clean_line(str(situation.project)), ready=proofs)
    return write_entry(board.place, entry)


def _plain(sentence: Told) -> Told:
    """Return a message whose values are single lines, as a file stores them."""
    return Told(sentence.id, {name: clean_line(str(value)) for name, value in sentence.values.items()})


def _fact(value: str | float | bool) -> str | float | bool:
    return clean_line(value) if isinstance(value, str) else value


def collected(board: Board, event: "Event") -> dict[str, TeamReadiness]:
    """Return how ready each team of an event is: the newest checklist of each member, verified from this account.

    A point is `confirmed` if its run exists, belongs to the team, succeeded and shows the same number; `told` if this
    account cannot see that; `refuted` if it is false. The checklist of a person without a team does not count.
    """
    moment = time.time()
    newest: dict[str, Owned] = {}
    for owned in board.ready:  # oldest first
        newest[board.people.account(owned.uid)] = owned
    return {team.name: _team(team, newest, board, moment) for team in event.teams}


def _team(team: "Team", newest: Mapping[str, Owned], board: Board, now: float) -> TeamReadiness:
    accounts = members_of(team)
    members: dict[str, tuple[ChecklistPoint, ...]] = {}
    for user in dict.fromkeys(team.accounts):
        owned = newest.get(user)
        if owned is None:
            members[user] = ()
            continue
        claims = Claims(owned.entry.folder, user, team, accounts, board.people, now)
        proofs = [proof for proof in owned.entry.ready if proof.name in NAMES]
        judged = [(proof, *claims.judge(proof)) for proof in proofs]
        members[user] = tuple(
            ChecklistPoint(proof.name, state, user, owned.entry.time, proof.spoken(), why)
            for proof, state, why in judged
        )
    return TeamReadiness(team.name, {name: _point(name, members) for name in NAMES}, members)


def _point(name: str, members: Mapping[str, Sequence[ChecklistPoint]]) -> ChecklistPoint:
    """Return the point that counts for the team."""
    candidates = [
        next((point for point in points if point.name == name), ChecklistPoint(name, NOBODY, user))
        for user, points in members.items()
    ]
    if not candidates:
        return ChecklistPoint(name, NOBODY)
    best = max if name == "account" else min
    chosen = best(candidates, key=lambda point: STATES.index(point.state))
    return chosen if chosen.state != NOBODY or name == "account" else ChecklistPoint(name, NOBODY)


def table(teams: Mapping[str, TeamReadiness], *, words: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table: a row for each team, a column for each point, and who posted when.

    `words`: for terminals without ✓ and ✗.
    """
    head = [
        _("team"),
        *(_(_HEAD_TEXTS[name]) for name in NAMES),
        _("posted"),
    ]
    rows = []
    for readiness in teams.values():
        marks = [_mark(readiness.points[name], words) for name in NAMES]
        posted = {user: points[0].time for user, points in readiness.members.items() if points}
        when = time.strftime("%m-%d %H:%M", time.localtime(max(posted.values()))) if posted else ""
        rows.append([readiness.team, *marks, f"{len(posted)}/{len(readiness.members)} {when}".strip()])
    return head, rows


def _mark(point: ChecklistPoint, words: bool) -> str:
    return _(_WORD_TEXTS[point.state]) if words else MARKS[point.state]


def legend(*, words: bool = False) -> str:
    """Return one line that explains the marks."""
    return "" if words else ", ".join(f"{MARKS[state]} {_(_WORD_TEXTS[state])}" for state in STATES)


def lacking(teams: Mapping[str, TeamReadiness]) -> Iterator[tuple[str, str]]:
    """Yield (team, sentence) for each point that a team has not done, and for each false claim."""
    for readiness in teams.values():
        if not any(readiness.members.values()):
            yield readiness.team, _("nobody has run `hackathon ready` yet")
            continue
        for name, point in readiness.points.items():
            if point.state in DONE or point.state == REFUTED:
                continue
            label = _(ITEM_TEXTS[name])
            author = f" ({point.user})" if point.user else ""
            yield (
                readiness.team,
                clean_line(f"{label}: {_(_WORD_TEXTS[point.state])}{author} {point.evidence}"),
            )
        for point in readiness.refuted:
            label = _(ITEM_TEXTS[point.name])
            yield (
                readiness.team,
                clean_line(_("{what}: {user} claims it, but {why}", what=label, user=point.user, why=point.why)),
            )


def event_readiness(event: "Event", folder: Path) -> dict[str, TeamReadiness]:
    """Return how ready the teams are, by their posted checklists; empty without a board or teams."""
    if not event.shared:
        return {}
    try:
        board = read_board(open_place(folder / expanded(event.shared)), People(event))
    except HackathonError:
        return {}  # the missing board is among the troubles
    return collected(board, event)
