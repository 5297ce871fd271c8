"""What is wrong with the people of an event: teams without tutor, accounts and groups that this machine lacks."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.share.event.kinds import kind_label
from hackathon.share.event.lists import group_id
from hackathon.share.event.looking import MEMBERS_AT_MOST, teams
from hackathon.share.event.machines import wants_group
from hackathon.share.event.readable import Account, account

if TYPE_CHECKING:
    from hackathon.config.event import Team
    from hackathon.share.event.looking import Looker


@dataclass
class Known:
    """The accounts that this machine has."""

    accounts: dict[str, Account] = field(default_factory=dict)

    def of(self, users: list[str]) -> list[Account]:
        """Return the accounts of users, without those that this machine lacks."""
        return [self.accounts[user] for user in dict.fromkeys(users) if user in self.accounts]


def look(looker: "Looker") -> Known:
    """Note what is wrong and return the accounts of members and tutors."""
    event = looker.event
    known = Known()
    users = [member.user for team in event.teams for member in team.members] + [tutor.user for tutor in event.tutors]
    for user in dict.fromkeys(users):
        found = account(user)
        if found is not None:
            known.accounts[user] = found
    here = bool(known.accounts)
    if users and not here:
        looker.add("warning", "no_accounts_here", looker.line("teams"), count=len(set(users)))
    if not event.teams:
        looker.add("warning", "no_teams", looker.line("teams"))
    _tutors(looker, known, here)
    payer = wants_group(looker)
    groups: dict[str, str] = {}
    for index, team in teams(looker):
        _team(looker, index, team)
        if here:
            _missing(looker, index, team, known)
        _group(looker, index, team, known, here, payer)
        if team.group and team.group in groups:
            values = {"group": team.group, "other": groups[team.group]}
            looker.add("remark", "group_shared", looker.line("teams", index, "group"), team.name, **values)
        groups.setdefault(team.group or "", team.name)
    return known


def _tutors(looker: "Looker", known: Known, here: bool) -> None:
    event = looker.event
    if not event.tutors:
        looker.add("warning", "no_tutors", looker.line("tutors"))
    members = {member.user: team.name for team in event.teams for member in team.members}
    for index, tutor in enumerate(event.tutors):
        where = looker.line("tutors", index)
        if here and tutor.user not in known.accounts:
            looker.add("warning", "tutor_no_account", where, user=tutor.user)
        if tutor.user in members:
            looker.add("warning", "tutor_is_member", where, members[tutor.user], user=tutor.user)


def _team(looker: "Looker", index: int, team: "Team") -> None:
    where = looker.line("teams", index)
    if not team.members:
        looker.add("warning", "team_empty", where, team.name)
    if not team.tutors:
        looker.add("warning", "team_no_tutor", where, team.name)
    if len(team.members) > MEMBERS_AT_MOST:
        count = len(team.members)
        looker.add("remark", "team_large", where, team.name, count=count, usual=MEMBERS_AT_MOST)
    silent = [member.user for member in team.members if not member.kind]
    if silent:
        label = kind_label(looker.event, "")
        looker.add("remark", "kind_missing", where, team.name, users=", ".join(silent), label=label)


def _missing(looker: "Looker", index: int, team: "Team", known: Known) -> None:
    for number, member in enumerate(team.members):
        if member.user not in known.accounts:
            where = looker.line("teams", index, "members", number)
            looker.add("warning", "no_account", where, team.name, user=member.user)


def _group(looker: "Looker", index: int, team: "Team", known: Known, here: bool, payer: str) -> None:
    where = looker.line("teams", index, "group")
    if not team.group:
        if payer and not looker.event.defaults.group:
            looker.add("warning", "no_group", where, team.name, cluster=payer)
        return
    number = group_id(team.group)
    if number is None:
        looker.add("error" if here else "warning", "group_unknown", where, team.name, group=team.group)
        return
    for at, member in enumerate(team.members):
        found = known.accounts.get(member.user)
        if found is not None and number not in found.groups:
            place = looker.line("teams", index, "members", at)
            looker.add("error", "not_in_group", place, team.name, user=member.user, group=team.group)
