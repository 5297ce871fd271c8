"""Checklists of `hackathon ready`: posted by members, collated by team, and looked at again by whoever collates them.

The owner of a checklist's file is who says it: nobody can speak for another. The newest of each account counts.

For `event check` and pages:
    found = collected(board, event)           team's name → TeamReadiness, in the order of hackathon.yaml
    head, rows = table(found)                 for `cli.show.echo_table`; `words=True` without ✓ and ✗; `legend()` below
    for team, line in lacking(found): …       what a team still has to do, and claims that are not so
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
from hackathon.text.messages import message
from hackathon.text.paths import expanded
from hackathon.text.told import Told

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

NOBODY = "nobody"
STATES = (CONFIRMED, TOLD, UNKNOWN, NO, REFUTED, NOBODY)
"""What becomes of a point, the best first: looked at again and so; told, not to be seen from here; could not be looked
at; not done; claimed and not so; nobody posted a checklist."""
DONE = frozenset({CONFIRMED, TOLD})
MARKS = {CONFIRMED: "✓", TOLD: "(✓)", UNKNOWN: "?", NO: "✗", REFUTED: "✗!", NOBODY: "–"}


@dataclass(frozen=True)
class ChecklistPoint:
    """One point of a team's checklist, as it stands."""

    name: str
    """One of NAMES."""
    state: str
    """One of STATES."""
    user: str = ""
    """The account that says it; of `nobody` the member who is waited for, or empty."""
    time: float = 0.0
    """When the checklist was posted, in seconds since 1970."""
    evidence: str = ""
    """As it was posted, in the current language where it was posted in that."""
    why: str = ""
    """Why it is not confirmed, in the current language."""


@dataclass(frozen=True)
class TeamReadiness:
    """How ready a team is."""

    team: str
    points: dict[str, ChecklistPoint]
    """Of each of NAMES the best that a member has; of `account` the worst, for everybody has to log in."""
    members: dict[str, tuple[ChecklistPoint, ...]]
    """Account → the points of its newest checklist, in the order of hackathon.yaml; empty for who posted none."""

    @property
    def ready(self) -> bool:
        """Whether every point is done."""
        return all(point.state in DONE for point in self.points.values())

    @property
    def refuted(self) -> list[ChecklistPoint]:
        """Claims that are not so, of all members."""
        return [point for points in self.members.values() for point in points if point.state == REFUTED]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
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
    """Return a message whose values are lines, as a file has them."""
    return Told(sentence.id, {name: clean_line(str(value)) for name, value in sentence.values.items()})


def _fact(value: str | float | bool) -> str | float | bool:
    return clean_line(value) if isinstance(value, str) else value


def collected(board: Board, event: "Event", now: float | None = None) -> dict[str, TeamReadiness]:
    """Return how ready each team of an event is: the newest checklist of each member, looked at again from here.

    A point is `confirmed` when the run that it names is there, belongs to the team, succeeded and shows the same
    number; `told` when that cannot be seen from this account; `refuted` when it is not so. A checklist of somebody who
    is in no team counts for none, whatever it says.
    """
    moment = time.time() if now is None else now
    newest: dict[str, Owned] = {}
    for owned in board.ready:  # the oldest first
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
    """Return the head and the rows of a table: a line for each team, a column for each point, and who posted when.

    `words`: for terminals without ✓ and ✗.
    """
    head = [
        message("ready.head_team"),
        *(message(f"ready.head_{name}") for name in NAMES),
        message("ready.head_posted"),
    ]
    rows = []
    for readiness in teams.values():
        marks = [_mark(readiness.points[name], words) for name in NAMES]
        posted = {user: points[0].time for user, points in readiness.members.items() if points}
        when = time.strftime("%m-%d %H:%M", time.localtime(max(posted.values()))) if posted else ""
        rows.append([readiness.team, *marks, f"{len(posted)}/{len(readiness.members)} {when}".strip()])
    return head, rows


def _mark(point: ChecklistPoint, words: bool) -> str:
    return message(f"ready.word_{point.state}") if words else MARKS[point.state]


def legend(*, words: bool = False) -> str:
    """Return one line that says what the marks mean."""
    return "" if words else ", ".join(f"{MARKS[state]} {message(f'ready.word_{state}')}" for state in STATES)


def lacking(teams: Mapping[str, TeamReadiness]) -> Iterator[tuple[str, str]]:
    """Yield (team, sentence) for each point that a team has not done, and for each claim that is not so."""
    for readiness in teams.values():
        if not any(readiness.members.values()):
            yield readiness.team, message("ready.lacking_all")
            continue
        for name, point in readiness.points.items():
            if point.state in DONE or point.state == REFUTED:
                continue
            label = message(f"ready.item_{name}")
            author = f" ({point.user})" if point.user else ""
            yield (
                readiness.team,
                clean_line(f"{label}: {message(f'ready.word_{point.state}')}{author} {point.evidence}"),
            )
        for point in readiness.refuted:
            label = message(f"ready.item_{point.name}")
            yield (
                readiness.team,
                clean_line(message("ready.lacking_refuted", what=label, user=point.user, why=point.why)),
            )


def event_readiness(event: "Event", folder: Path) -> dict[str, TeamReadiness]:
    """Return how ready the teams are by what they posted with `hackathon ready`; empty without a board or teams."""
    if not event.shared:
        return {}
    try:
        board = read_board(open_place(folder / expanded(event.shared)), People(event))
    except HackathonError:
        return {}  # that there is no board is among the troubles
    return collected(board, event)
