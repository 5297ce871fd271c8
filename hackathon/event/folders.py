"""Check the directories of an event: who lacks access, and who has too much."""

import contextlib
import os
import shlex
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.acl import DEFAULT_LIST, read_list
from hackathon.access.permissions import WRITE, Account, open_to_others, readable
from hackathon.event.check_report import owner_word, teams
from hackathon.event.directories import SURVEYS, DirectoriesMade, wanted_folders
from hackathon.text.errors import HackathonError
from hackathon.text.messages import Message, _
from hackathon.text.paths import expanded

if TYPE_CHECKING:
    from hackathon.config.event import Team
    from hackathon.event.accounts import Known
    from hackathon.event.check_report import Checker

OTHERS_LOOKED_AT = 400
"""The most accounts of other teams that are checked for each team's folder."""


def look(checker: "Checker", register: "Known") -> None:
    """Note the troubles of the event's file, its board, its surveys and the teams' folders."""
    event = checker.event
    tutors = register.of(
        [*(tutor.user for tutor in event.tutors), *(user for team in event.teams for user in team.tutors)]
    )
    members = register.of([user for team in event.teams for user in team.accounts])
    path = checker.document.path
    _let_in(
        checker,
        path,
        [*members, *tutors],
        0,
        "warning",
        Message(
            "event_check.file_closed",
            "{users} cannot read hackathon.yaml: {place} is {found}",
            hint="Their commands cannot find the event: {command}",
        ),
        "",
    )
    _board(checker, [*members, *tutors])
    _surveys(checker)
    for index, team in teams(checker):
        _team(checker, index, team, register, tutors)
    _strays(checker)
    outcome = DirectoriesMade()
    wanted_folders(event, checker.folder, checker.folder.stat().st_uid, outcome)
    indexes = {team.name: index for index, team in enumerate(event.teams)}
    for identifier, values in outcome.notes:
        if identifier == "event.folder_reserved":
            name = str(values["team"])
            checker.add(
                "error",
                Message(
                    "event_check.folder_reserved",
                    "team {team}: {path} is used for something else or cannot be a team's folder",
                    hint="Add `folders: [teams/NAME]` to the team.",
                ),
                checker.line("teams", indexes[name]),
                name,
                path=values["path"],
            )


def _board(checker: "Checker", people: Sequence[Account]) -> None:
    from hackathon.board.directory import open_place

    event = checker.event
    line = checker.line("shared")
    if not event.shared:
        checker.add(
            "warning",
            Message(
                "event_check.no_shared",
                "`shared` is missing, so there is no board and no requests for help",
                hint="Add `shared: shared`, then run `hackathon event init`.",
            ),
            line,
        )
        return
    path = checker.folder / expanded(event.shared)
    try:
        board = open_place(path)
    except HackathonError as error:
        checker.add(
            "error",
            Message("event_check.no_board", "{what}", hint="Run `hackathon event init`."),
            line,
            path=path,
            what=error.message,
        )
        return
    for identifier, values in board.problems:
        checker.add(
            "error",
            Message("event_check.board_problem", "the board: {what}", hint="Run `hackathon event init` as its owner."),
            path,
            what=_(identifier, **values),
        )
    also = WRITE if board.mode == "sticky" else 0
    _let_in(
        checker,
        board.folder,
        people,
        also,
        "error",
        Message("event_check.board_closed", "{users} cannot use the board: {place} is {found}", hint="{command}"),
        "",
    )


def _surveys(checker: "Checker") -> None:
    path = checker.folder / SURVEYS
    try:
        status = path.stat()
    except OSError:
        return
    if open_to_others(status):
        checker.add(
            "error",
            Message("event_check.surveys_open", "other users can look into the surveys: {found}", hint="{command}"),
            path,
            found=owner_word(path),
            command=f"chmod 700 {_quoted(path)}",
        )


def _team(checker: "Checker", index: int, team: "Team", register: "Known", tutors: list[Account]) -> None:
    from hackathon.config.event import team_folders

    members = register.of(team.accounts)
    own = set(team.accounts)
    strangers = register.of([user for entry in checker.event.teams for user in entry.accounts if user not in own])
    line = checker.line("teams", index)
    helpers = register.of(team.tutors) or tutors
    for path in team_folders(team, checker.folder):
        try:
            status = path.lstat()
        except FileNotFoundError:
            if not team.members:
                continue  # reported already
            inside = path.is_relative_to(checker.folder)
            checker.add(
                "warning",
                Message(
                    "event_check.folder_missing",
                    "team {team}: its folder {path} is missing",
                    hint="Run `hackathon event init`.",
                )
                if inside
                else Message(
                    "event_check.folder_elsewhere",
                    "team {team}: its folder {path} is missing",
                    hint="It is outside the event's folder: its owner must create it, or correct `folders`.",
                ),
                line,
                team.name,
                path=path,
            )
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            checker.add(
                "warning",
                Message("event_check.folder_unseen", "team {team}: this account cannot see {path}: {what}"),
                line,
                team.name,
                path=path,
                what=reason,
            )
            continue
        if stat.S_ISLNK(status.st_mode):
            checker.add(
                "remark",
                Message("event_check.folder_link", "team {team}: this is a link to {target}"),
                path,
                team.name,
                target=os.readlink(path),  # noqa: PTH115
            )
        _let_in(
            checker,
            path,
            helpers,
            0,
            "error",
            Message(
                "event_check.tutor_closed",
                "team {team}: {users} (tutors) cannot read {path}: {place} is {found}",
                hint="Its owner can give access: {command}",
            ),
            team.name,
        )
        owns_alone = "{user}" in "".join(team.folders)
        if not owns_alone:
            _let_in(
                checker,
                path,
                members,
                WRITE,
                "error",
                Message(
                    "event_check.member_closed",
                    "team {team}: {users} cannot write to {path}: {place} is {found}",
                    hint="Run `hackathon event init`, or: {command}",
                ),
                team.name,
            )
        writers = [other.user for other in strangers[:OTHERS_LOOKED_AT] if other.uid != 0 and _passes(path, other)]
        if writers:
            values = {"users": _names(writers), "found": owner_word(path)}
            checker.add(
                "error",
                Message(
                    "event_check.others_write",
                    "team {team}: members of other teams can write here: {users} ({found})",
                    hint="Run `hackathon event init` as its owner.",
                ),
                path,
                team.name,
                **values,
            )
        for helper in helpers:
            _runs(checker, path, helper, team.name)


def _strays(checker: "Checker") -> None:
    """Note folders of teams that hackathon.yaml no longer has, because they were renamed or removed."""
    from hackathon.config.event import team_folders

    teams_own = [path for team in checker.event.teams for path in team_folders(team, checker.folder)]
    with contextlib.suppress(OSError):
        inherited = read_list(checker.folder, DEFAULT_LIST)
        for path in sorted(checker.folder.iterdir()):
            if path.is_symlink() or not path.is_dir() or any(own.is_relative_to(path) for own in teams_own):
                continue
            if read_list(path, DEFAULT_LIST) not in (None, inherited):
                checker.add(
                    "remark",
                    Message(
                        "event_check.folder_stray",
                        "{path} looks like a team's folder, but hackathon.yaml has no such team",
                        hint="If the team was renamed, add `folders: [{path}]` to keep it; nothing is deleted.",
                    ),
                    path,
                    path=path,
                )


def _runs(checker: "Checker", folder: Path, tutor: Account, team: str) -> None:
    """Note projects of a team with runs that a tutor cannot read although the tutor may read the folder."""
    try:
        if readable(folder, tutor.uid, tutor.groups) is not None:
            return
        projects = [folder, *sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())]
    except OSError:
        return
    for project in projects:
        runs = project / "runs"
        try:
            closed = readable(runs, tutor.uid, tutor.groups) if runs.is_dir() else None
        except OSError:
            continue
        if closed is not None:
            values = {"users": tutor.user, "path": runs, "found": owner_word(closed)}
            access = f"u:{tutor.user}:rX,d:u:{tutor.user}:rX"
            command = f"setfacl -R -m {access} {_quoted(closed)}"
            checker.add(
                "warning",
                Message(
                    "event_check.runs_closed",
                    "team {team}: {users} (tutor) cannot read the runs in {path}: {found}",
                    hint="Its owner can give access: {command}",
                ),
                closed,
                team,
                command=command,
                **values,
            )


def _let_in(
    checker: "Checker", path: Path, people: Sequence[Account], also: int, level: str, identifier: Message, team: str
) -> None:
    """Note who cannot read (and write, with `also`) a path, grouped by the directory that denies access."""
    closed: dict[Path, list[str]] = {}
    for user in dict.fromkeys(people):
        try:
            directory = readable(path, user.uid, user.groups, also)
        except FileNotFoundError:
            return
        except OSError as error:
            checker.add(
                "warning",
                Message("event_check.unseen", "this account cannot see {path}: {what}"),
                path,
                team,
                path=path,
                what=error.strerror or str(error),
            )
            return
        if directory is not None:
            closed.setdefault(directory, []).append(user.user)
    for directory, users in closed.items():
        letters = ("rwx" if also else "rx") if directory == path else "x"
        values = {"path": path, "place": directory, "found": owner_word(directory), "users": _names(users)}
        command = _opening(directory, users, letters)
        checker.add(level, identifier, directory, team, command=command, **values)


def _opening(path: Path, users: Sequence[str], letters: str) -> str:
    """Return the command with which a path's owner gives users access; if they only pass through, everybody."""
    if letters == "x" or shutil.which("setfacl") is None:
        return f"chmod o+{letters.replace('w', '')} {_quoted(path)}"
    return f"setfacl -m {','.join(f'u:{user}:{letters}' for user in users)} {_quoted(path)}"


def _passes(path: Path, user: Account) -> bool:
    try:
        return readable(path, user.uid, user.groups, WRITE) is None
    except OSError:
        return False


def _names(users: Sequence[str], most: int = 5) -> str:
    more = f", … (+{len(users) - most})" if len(users) > most else ""
    return ", ".join(users[:most]) + more


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
