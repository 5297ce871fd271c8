"""The users of a board: accounts, with their names and teams in hackathon.yaml."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hackathon.board.entry import clean_line
from hackathon.index.members import Members

if TYPE_CHECKING:
    from hackathon.config.event import Event


class People(Members):
    """Users of the machine, with the names in an event. A user without a team is displayed as the account."""

    def __init__(self, event: "Event | None") -> None:
        super().__init__(event)
        self._names: dict[str, str] = {}
        self.tutors: frozenset[str] = frozenset()
        """Accounts of the tutors of the event and of its teams."""
        if event is None:
            return
        self._names = {member.user: member.name for team in event.teams for member in team.members if member.user}
        self._names.update({tutor.user: tutor.name for tutor in event.tutors if tutor.name})
        helpers = {tutor.user for tutor in event.tutors}
        self.tutors = frozenset(helpers.union(*(team.tutors for team in event.teams)))

    def name(self, account: str) -> str:
        """Return a person's name; the account if the event has no name."""
        return clean_line(self._names.get(account) or account)

    def team(self, account: str) -> str:
        """Return the display name of an account's team; empty if it has none."""
        return clean_line(self.team_of(account))

    def shown(self, account: str) -> str:
        """Return a person's display name: the name, the account if it differs, and the team."""
        name, team = self.name(account), self.team(account)
        label = name if name == account else f"{name} ({account})"
        return f"{label}, {team}" if team else label

    def is_tutor(self, uid: int) -> bool:
        """Return whether a user is a tutor of the event."""
        return self.account(uid) in self.tutors

    def known(self) -> Iterable[str]:
        """Return the accounts of all members and tutors."""
        return dict.fromkeys([*(user for members in self.teams.values() for user in members), *sorted(self.tutors)])
