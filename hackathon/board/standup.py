"""The daily status report: the reports of all members by team, and the problems that were solved."""

import time
from dataclasses import dataclass, field
from typing import Any

from hackathon.board.board import Board, Post
from hackathon.board.entry import SECTIONS, Entry
from hackathon.board.store import Owned, write_entry
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message

DAY = 86400.0
BEFORE = 18 * 3600.0
"""Seconds before a day's midnight from which reports belong to that day, i.e. after the previous morning."""


@dataclass(frozen=True)
class StandupReport:
    """The report of one member."""

    user: str
    """The account that owns its file."""
    name: str
    time: float
    sections: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values; missing sections are empty."""
        texts = {section: self.sections.get(section, "") for section in SECTIONS}
        return {"user": self.user, "name": self.name, "time": self.time, **texts}


@dataclass
class Round:
    """The daily status report of one day."""

    day: str
    """YYYY-MM-DD, local time."""
    teams: dict[str, list[StandupReport]] = field(default_factory=dict)
    """Team → its members' reports, in the order of hackathon.yaml; people without a team under the empty name."""
    silent: dict[str, list[str]] = field(default_factory=dict)
    """Team → names of members without a report."""
    solved: list[Post] = field(default_factory=list)
    """Posts and requests that were solved since the previous morning."""
    waiting: list[Post] = field(default_factory=list)
    """Posts and requests that are not solved."""

    def to_json(self) -> dict[str, Any]:
        """Return the page as JSON values."""
        teams = [
            {
                "team": team or None,
                "members": [report.to_json() for report in reports],
                "silent": self.silent.get(team, []),
            }
            for team, reports in self.teams.items()
        ]
        return {
            "day": self.day,
            "teams": teams,
            "solved": [post.to_json() for post in self.solved],
            "waiting": [post.to_json() for post in self.waiting],
        }


NO_REPORT = Message(
    "board.no_report",
    "the status report is empty",
    hint="use --progress, --goals, --problems, or --solved, or run it in a terminal to open an editor",
)
"""The error of a report without any text."""


def report(board: Board, sections: dict[str, str]) -> Owned:
    """Write the current user's report. Raises RequestError when all of its sections are empty."""
    filled = {name: text.strip() for name, text in sections.items() if name in SECTIONS and text.strip()}
    if not filled:
        raise RequestError(NO_REPORT)
    return write_entry(board.place, Entry("", "standup", 0.0, board.place.board, sections=filled))


def morning_round(board: Board, day: str | None = None, now: float | None = None) -> Round:
    """Return the daily status report of a day (`YYYY-MM-DD`, default today; local time).

    The last report of each member counts that was written between 06:00 of the previous day and the end of the day.
    Raises RequestError for an invalid date.
    """
    moment = time.localtime(time.time() if now is None else now)
    date = day or time.strftime("%Y-%m-%d", moment)
    try:
        midnight = time.mktime(time.strptime(date, "%Y-%m-%d"))
    except (ValueError, OverflowError) as error:
        raise RequestError("board.bad_day", "{day!r} is not a date", hint="write it as 2019-01-24", day=date) from error
    begin, end = midnight - BEFORE, midnight + DAY
    people = board.people
    latest: dict[str, StandupReport] = {}
    for owned in board.reports:  # oldest first, so that a person's later report replaces an earlier one
        if begin <= owned.entry.time < end:
            account = people.account(owned.uid)
            latest[account] = StandupReport(account, people.name(account), owned.entry.time, owned.entry.sections)
    page = Round(date)
    for team, members in people.teams.items():
        page.teams[team] = [latest.pop(member) for member in members if member in latest]
        written = {entry.user for entry in page.teams[team]}
        page.silent[team] = [people.name(member) for member in members if member not in written]
    if latest:
        page.teams[""] = [latest[account] for account in sorted(latest)]
    page.solved = [post for post in board.posts if post.solved and begin <= post.solved.time < end]
    page.waiting = [post for post in board.posts if post.time < end and not (post.solved and post.solved.time < end)]
    return page
