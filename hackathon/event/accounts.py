"""Check the people of an event: teams without a tutor, accounts and groups missing on this machine."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hackathon.access.acl import group_id
from hackathon.access.permissions import Account, account
from hackathon.event.check_report import MEMBERS_AT_MOST, teams
from hackathon.event.kinds import kind_label
from hackathon.event.machines import wants_group
from hackathon.text.messages import Message

if TYPE_CHECKING:
    from hackathon.config.event import Team
    from hackathon.event.check_report import Checker


@dataclass
class Known:
    """The accounts that exist on this machine."""

    accounts: dict[str, Account] = field(default_factory=dict)

    def of(self, users: list[str]) -> list[Account]:
        """Return the accounts of users, without those missing on this machine."""
        return [self.accounts[user] for user in dict.fromkeys(users) if user in self.accounts]


def look(checker: "Checker") -> Known:
    """Note the problems and return the accounts of members and tutors."""
    event = checker.event
    register = Known()
    users = [user for team in event.teams for user in team.accounts] + [tutor.user for tutor in event.tutors]
    for user in dict.fromkeys(users):
        entry = account(user)
        if entry is not None:
            register.accounts[user] = entry
    reachable = bool(register.accounts)
    if users and not reachable:
        checker.add(
            "warning",
            Message(
                "event_check.no_accounts_here",
                "none of the event's {count} accounts exists on this machine, so people, groups, and directories "
                "were not checked",
                hint="Run this on a login node of the event's cluster.",
            ),
            checker.line("teams"),
            count=len(set(users)),
        )
    if not event.teams:
        checker.add(
            "warning",
            Message(
                "event_check.no_teams",
                "there are no teams",
                hint="Add them, or run `hackathon event init --teams teams.csv`.",
            ),
            checker.line("teams"),
        )
    _tutors(checker, register, reachable)
    payer = wants_group(checker)
    groups: dict[str, str] = {}
    for index, team in teams(checker):
        _team(checker, index, team)
        if reachable:
            _missing(checker, index, team, register)
        _group(checker, index, team, register, reachable, payer)
        if team.group and team.group in groups:
            values = {"group": team.group, "other": groups[team.group]}
            checker.add(
                "remark",
                Message(
                    "event_check.group_shared",
                    "teams {team} and {other} have the same group {group}: each can write to the other's folder",
                ),
                checker.line("teams", index, "group"),
                team.name,
                **values,
            )
        groups.setdefault(team.group or "", team.name)
    return register


def _tutors(checker: "Checker", register: Known, reachable: bool) -> None:
    event = checker.event
    if not event.tutors:
        checker.add(
            "warning",
            Message(
                "event_check.no_tutors",
                "there are no tutors",
                hint="Add them under `tutors`, with the topics they help with.",
            ),
            checker.line("tutors"),
        )
    members = {user: team.name for team in event.teams for user in team.accounts}
    for index, tutor in enumerate(event.tutors):
        line = checker.line("tutors", index)
        if reachable and tutor.user not in register.accounts:
            checker.add(
                "warning",
                Message(
                    "event_check.tutor_no_account",
                    "the account of tutor {user} does not exist on this machine",
                    hint="It may be an account on another cluster, or misspelt.",
                ),
                line,
                user=tutor.user,
            )
        if tutor.user in members:
            checker.add(
                "warning",
                Message("event_check.tutor_is_member", "{user} is both a tutor and a member of team {team}"),
                line,
                members[tutor.user],
                user=tutor.user,
            )


def _team(checker: "Checker", index: int, team: "Team") -> None:
    line = checker.line("teams", index)
    if not team.members:
        checker.add(
            "warning",
            Message(
                "event_check.team_empty",
                "team {team} has no members",
                hint="Add them; if the team did not take part, write `took_part: false`.",
            ),
            line,
            team.name,
        )
    if not team.tutors:
        checker.add(
            "warning",
            Message(
                "event_check.team_no_tutor", "team {team} has no tutor", hint="Add `tutors: [ACCOUNT]` to the team."
            ),
            line,
            team.name,
        )
    if len(team.members) > MEMBERS_AT_MOST:
        count = len(team.members)
        checker.add(
            "remark",
            Message("event_check.team_large", "team {team} has {count} members; up to {usual} are usual"),
            line,
            team.name,
            count=count,
            usual=MEMBERS_AT_MOST,
        )
    unknown = [member.name for member in team.members if not member.user]
    if unknown:
        checker.add(
            "warning",
            Message(
                "event_check.member_no_user",
                "team {team}: no account is known for {names}",
                hint="Add `user:` to each member as soon as the accounts exist; until then they cannot use the board "
                "or "
                "answer by account.",
            ),
            line,
            team.name,
            names=", ".join(unknown),
        )
    silent = [member.user or member.name for member in team.members if not member.kind]
    if silent:
        label = kind_label(checker.event, "")
        checker.add(
            "remark",
            Message(
                "event_check.kind_missing", "team {team}: no kind for {users}; the report counts them as “{label}”"
            ),
            line,
            team.name,
            users=", ".join(silent),
            label=label,
        )


def _missing(checker: "Checker", index: int, team: "Team", register: Known) -> None:
    for number, member in enumerate(team.members):
        if member.user and member.user not in register.accounts:
            line = checker.line("teams", index, "members", number)
            checker.add(
                "warning",
                Message(
                    "event_check.no_account",
                    "team {team}: account {user} does not exist on this machine",
                    hint="It may be an account on another cluster, or misspelt.",
                ),
                line,
                team.name,
                user=member.user,
            )


def _group(checker: "Checker", index: int, team: "Team", register: Known, reachable: bool, payer: str) -> None:
    line = checker.line("teams", index, "group")
    if not team.group:
        if payer and not checker.event.defaults.group:
            checker.add(
                "warning",
                Message(
                    "event_check.no_group",
                    "team {team} has no group, and jobs on {cluster} need one",
                    hint="Add `group:` to the team.",
                ),
                line,
                team.name,
                cluster=payer,
            )
        return
    number = group_id(team.group)
    if number is None:
        checker.add(
            "error" if reachable else "warning",
            Message(
                "event_check.group_unknown",
                "team {team}: group {group} does not exist on this machine",
                hint="Ask the administrator to create it, then run `hackathon event init` again.",
            ),
            line,
            team.name,
            group=team.group,
        )
        return
    for at, member in enumerate(team.members):
        entry = register.accounts.get(member.user)
        if entry is not None and number not in entry.groups:
            member_line = checker.line("teams", index, "members", at)
            checker.add(
                "error",
                Message(
                    "event_check.not_in_group",
                    "team {team}: {user} is not in group {group}",
                    hint="Jobs charged to the group are refused, and the team's folder is closed; ask the "
                    "administrator.",
                ),
                member_line,
                team.name,
                user=member.user,
                group=team.group,
            )
