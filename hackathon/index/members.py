"""Which team of an event an account belongs to, and whose budget a run is."""

import pwd
from typing import TYPE_CHECKING

from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.index.projects import ProjectFolder
    from hackathon.runs.lives import RunUse


class Members:
    """The accounts of an event's members, and the names of this machine's accounts."""

    def __init__(self, event: "Event | None") -> None:
        self._accounts: dict[int, str] = {}
        self.teams: dict[str, list[str]] = {}
        """Team → accounts, as they stand in hackathon.yaml."""
        if event is not None:
            self.teams = {team.name: team.accounts for team in event.teams}
        self._team = {user: name for name, users in self.teams.items() for user in users}

    def account(self, uid: int | None) -> str:
        """Return a user's account; `uid 1234` when the machine knows none."""
        if uid is None:
            return "?"
        if uid not in self._accounts:
            try:
                self._accounts[uid] = printable(pwd.getpwuid(uid).pw_name)
            except KeyError:
                self._accounts[uid] = f"uid {uid}"
        return self._accounts[uid]

    def team_of(self, account: str) -> str:
        """Return the team of an account as hackathon.yaml writes it, empty for none."""
        return self._team.get(account, "")

    def team_of_run(self, project: "ProjectFolder", use: "RunUse") -> str:
        """Return whose budget a run is: of the team whose folder it lies in, else of its owner's, else as it says.

        A record may name any team. It is believed where the owner is in no team and that team has no members written
        down, or is not in hackathon.yaml at all.
        """
        if project.team:
            return project.team
        own = self.team_of(self.account(use.user))
        if own or not use.team:
            return own
        return "" if self.teams.get(use.team) else use.team
