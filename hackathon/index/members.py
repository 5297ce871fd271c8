"""Assign accounts to the teams of an event, and runs to the budgets of teams."""

import pwd
from typing import TYPE_CHECKING

from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.index.projects import ProjectFolder
    from hackathon.runs.lives import RunUse


class Members:
    """The accounts of an event's members, and the account names of this machine."""

    def __init__(self, event: "Event | None") -> None:
        self._accounts: dict[int, str] = {}
        self.teams: dict[str, list[str]] = {}
        """Team → accounts, in the order of hackathon.yaml."""
        if event is not None:
            self.teams = {team.name: team.accounts for team in event.teams}
        self._team = {user: name for name, users in self.teams.items() for user in users}

    def account(self, uid: int | None) -> str:
        """Return a user's account; `uid 1234` if the machine does not have it."""
        if uid is None:
            return "?"
        if uid not in self._accounts:
            try:
                self._accounts[uid] = printable(pwd.getpwuid(uid).pw_name)
            except KeyError:
                self._accounts[uid] = f"uid {uid}"
        return self._accounts[uid]

    def team_of(self, account: str) -> str:
        """Return the team of an account as hackathon.yaml writes it; empty if it has none."""
        return self._team.get(account, "")

    def team_of_run(self, project: "ProjectFolder", use: "RunUse") -> str:
        """Return the team whose budget a run counts against: that of its folder, else its owner's, else its record's.

        A record may name any team. It counts only if the owner is in no team and the named team lists no members or is
        missing in hackathon.yaml.
        """
        if project.team:
            return project.team
        own = self.team_of(self.account(use.user))
        if own or not use.team:
            return own
        return "" if self.teams.get(use.team) else use.team
