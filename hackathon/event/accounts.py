"""What is wrong with the people of an event: teams without tutor, accounts and groups that this machine lacks."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.access.acl import group_id
from hackathon.access.permissions import Account, account
from hackathon.event.check_report import MEMBERS_AT_MOST, teams
from hackathon.event.kinds import kind_label
from hackathon.event.machines import wants_group

if TYPE_CHECKING:
    from hackathon.config.event import Team
    from hackathon.event.check_report import Checker


@dataclass
class Known:
    """The accounts that this machine has."""

    accounts: dict[str, Account] = field(default_factory=dict)

    def of(self, users: list[str]) -> list[Account]:
        """Return the accounts of users, without those that this machine lacks."""
        return [self.accounts[user] for user in dict.fromkeys(users) if user in self.accounts]


def look(checker: "Checker") -> Known:
    """Note what is wrong and return the accounts of members and tutors."""
    event = checker.event
    known = Known()
    users = [user for team in event.teams for user in team.accounts] + [tutor.user for tutor in event.tutors]
    for user in dict.fromkeys(users):
        found = account(user)
        if found is not None:
            known.accounts[user] = found
    here = bool(known.accounts)
    if users and not here:
        checker.add("warning", "no_accounts_here", checker.line("teams"), count=len(set(users)))
    if not event.teams:
        checker.add("warning", "no_teams", checker.line("teams"))
    _tutors(checker, known, here)
    payer = wants_group(checker)
    groups: dict[str, str] = {}
    for index, team in teams(checker):
        _team(checker, index, team)
        if here:
            _missing(checker, index, team, known)
        _group(checker, index, team, known, here, payer)
        if team.group and team.group in groups:
            values = {"group": team.group, "other": groups[team.group]}
            checker.add("remark", "group_shared", checker.line("teams", index, "group"), team.name, **values)
        groups.setdefault(team.group or "", team.name)
    return known


def _tutors(checker: "Checker", known: Known, here: bool) -> None:
    event = checker.event
    if not event.tutors:
        checker.add("warning", "no_tutors", checker.line("tutors"))
    members = {user: team.name for team in event.teams for user in team.accounts}
    for index, tutor in enumerate(event.tutors):
        where = checker.line("tutors", index)
        if here and tutor.user not in known.accounts:
            checker.add("warning", "tutor_no_account", where, user=tutor.user)
        if tutor.user in members:
            checker.add("warning", "tutor_is_member", where, members[tutor.user], user=tutor.user)


def _team(checker: "Checker", index: int, team: "Team") -> None:
    where = checker.line("teams", index)
    if not team.members:
        checker.add("warning", "team_empty", where, team.name)
    if not team.tutors:
        checker.add("warning", "team_no_tutor", where, team.name)
    if len(team.members) > MEMBERS_AT_MOST:
        count = len(team.members)
        checker.add("remark", "team_large", where, team.name, count=count, usual=MEMBERS_AT_MOST)
    unknown = [member.name for member in team.members if not member.user]
    if unknown:
        checker.add("warning", "member_no_user", where, team.name, names=", ".join(unknown))
    silent = [member.user or member.name for member in team.members if not member.kind]
    if silent:
        label = kind_label(checker.event, "")
        checker.add("remark", "kind_missing", where, team.name, users=", ".join(silent), label=label)


def _missing(checker: "Checker", index: int, team: "Team", known: Known) -> None:
    for number, member in enumerate(team.members):
        if member.user and member.user not in known.accounts:
            where = checker.line("teams", index, "members", number)
            checker.add("warning", "no_account", where, team.name, user=member.user)


def _group(checker: "Checker", index: int, team: "Team", known: Known, here: bool, payer: str) -> None:
    where = checker.line("teams", index, "group")
    if not team.group:
        if payer and not checker.event.defaults.group:
            checker.add("warning", "no_group", where, team.name, cluster=payer)
        return
    number = group_id(team.group)
    if number is None:
        checker.add("error" if here else "warning", "group_unknown", where, team.name, group=team.group)
        return
    for at, member in enumerate(team.members):
        found = known.accounts.get(member.user)
        if found is not None and number not in found.groups:
            place = checker.line("teams", index, "members", at)
            checker.add("error", "not_in_group", place, team.name, user=member.user, group=team.group)
