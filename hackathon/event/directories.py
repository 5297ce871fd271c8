"""Create an event's directories (board, team folders, surveys), and list the commands that only root can run.

Root creates everything with its owner and group. Another account creates what it can and gets commands for the rest. An
existing directory of the event is repaired; one that belongs to others is never changed.
"""

import errno
import os
import stat
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.acl import ACCESS_LIST, DEFAULT_LIST, Acl, group_id, group_list, packed, read_list
from hackathon.access.permissions import ENTER, READ, WRITE, account, group_name, user_name
from hackathon.access.safe_directories import OPEN_FOLDER, acting_as, give, parent_below
from hackathon.text.errors import HackathonError
from hackathon.text.messages import Message, _
from hackathon.text.paths import expanded

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

SURVEYS, TEAM_MODE, OWN_MODE, OPEN_MODE = "surveys", 0o2770, 0o700, 0o755
RESERVED = frozenset({SURVEYS, "recipes", "templates", "site", "hackathon.yaml"})
"""Names in an event's folder that cannot be a team's."""
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that end lines or control terminals; an administrator reads a path before using it."""
_JOINER = "\u200d"
"""Joins emoji; it controls nothing."""
_NO_LISTS = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


@dataclass(frozen=True)
class WantedDirectory:
    """The required state of a directory."""

    path: Path
    what: str
    """Its purpose: event, board, team or surveys."""
    owner: int
    mode: int
    group: int | None = None
    """The group that it must have; None for any."""
    users: tuple[tuple[int, int], ...] = ()
    """Further users and their permissions, e.g. (uid of a tutor, READ | ENTER)."""
    groups: tuple[tuple[int, int], ...] = ()
    team: str = ""

    @property
    def acl(self) -> Acl | None:
        """The access control list; None if owner, group and others suffice."""
        return group_list(self.mode & 0o777, self.users, self.groups) if self.users or self.groups else None


@dataclass
class Made:
    """The outcome for one directory."""

    wanted: WantedDirectory
    state: str = "there"
    """made, mended, there, left (another account owns it, or it is not a directory), missing (creating it failed)."""
    found: os.stat_result | None = None
    why: str = ""
    """The obstacle."""
    commands: list[list[str]] = field(default_factory=list)
    """Commands for an administrator."""


@dataclass
class DirectoriesMade:
    """The outcome for all directories; with `dry`, the expected one."""

    folders: list[Made] = field(default_factory=list)
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Message ids and values of obstacles that no command removes, e.g. a group that does not exist."""
    commands: list[list[str]] = field(default_factory=list)
    """Commands for an administrator, in order."""

    @property
    def failed(self) -> bool:
        """Whether a directory is missing or was not changed although it is wrong."""
        return any(directory.state in ("left", "missing") for directory in self.folders)


def make_event(text: str, folder: Path, owner: int, *, dry: bool = False) -> DirectoriesMade:
    """Create or repair the directories of the event in a text; with `dry`, only report what would be done.

    Raises ConfigError for an invalid text, HackathonError if the file system refuses.
    """
    from hackathon.config.load import EVENT_FILE
    from hackathon.event.draft import checked

    event, outcome = checked(text, folder / EVENT_FILE), DirectoriesMade()
    plans = wanted_folders(event, folder, owner, outcome)
    with acting_as(owner):
        make_shared(event, folder, outcome, dry=dry)
    for plan in plans:
        directory = _look(plan) if dry else _make(plan, folder.absolute(), owner)
        outcome.folders.append(directory)
        outcome.commands += directory.commands
    return outcome


def wanted_folders(event: "Event", folder: Path, owner: int, outcome: DirectoriesMade) -> list[WantedDirectory]:
    """Return the directories that an event needs in addition to its board; obstacles are noted in the outcome.

    Team folders outside the event's folder belong to others: `event check` checks them, and nothing creates them.
    """
    from hackathon.config.event import team_folders

    base = folder.absolute()
    shared = Path(os.path.normpath(base / expanded(event.shared))) if event.shared else None
    plans = [WantedDirectory(base / SURVEYS, "surveys", owner, OWN_MODE)]
    empty = [team.name for team in event.teams if not team.members]
    if empty:
        outcome.notes.append(
            (
                Message("event.teams_empty", "no folder is created for teams without members: {names}"),
                {"names": ", ".join(empty)},
            )
        )
    for team in event.teams:
        if not team.members:
            continue  # nobody could use it, and the name may still change
        people = _people(team, event, owner, outcome)
        for path in team_folders(team, base):
            if not path.is_relative_to(base):
                continue
            if any(unicodedata.category(letter) in _STEERING and letter != _JOINER for letter in str(path)):
                outcome.notes.append(
                    (
                        Message(
                            "event.folder_steers",
                            "team {team}: no folder is created, because its name contains a line break or another "
                            "control character: {path}",
                        ),
                        {"team": team.name, "path": path},
                    )
                )
                continue
            inside = path.relative_to(base)
            taken = shared is not None and (path.is_relative_to(shared) or shared.is_relative_to(path))
            if not inside.parts or inside.parts[0] in RESERVED or inside.parts[0].startswith(".") or taken:
                outcome.notes.append(
                    (
                        Message(
                            "event.folder_reserved",
                            "team {team}: {path} is used for something else or cannot be a team's folder; set "
                            "`folders`",
                        ),
                        {"team": team.name, "path": path},
                    )
                )
                continue
            for parent in [*inside.parents][-2::-1]:
                plans.append(WantedDirectory(base / parent, "event", owner, OPEN_MODE))
            plans.append(replace(people, path=path))
    by_path: dict[Path, WantedDirectory] = {}
    for plan in plans:
        # a team's folder may lie above another's; if two teams share a folder, the first team has it
        if plan.path not in by_path or (by_path[plan.path].what == "event" and plan.what == "team"):
            by_path[plan.path] = plan
    return list(by_path.values())


def _people(team: "Team", event: "Event", owner: int, outcome: DirectoriesMade) -> WantedDirectory:
    """Return the required state of a team's folder: its group may write, or its members if it has no group.

    The organiser may read and repair it; the tutors of the team and of the event may read it.
    """
    group = group_id(team.group) if team.group else None
    if team.group and group is None:
        outcome.notes.append(
            (
                Message(
                    "event.group_unknown",
                    "team {team}: group {group} does not exist on this machine; ask for it, then run this again",
                ),
                {"team": team.name, "group": team.group},
            )
        )
    everything, reading = READ | WRITE | ENTER, READ | ENTER
    # the owner has these rights already, but the list also applies to files of members: usage, report and site read
    # them
    users: dict[int, int] = {owner: reading} if owner else {}
    for user in [*team.tutors, *(tutor.user for tutor in event.tutors)]:
        person = account(user)
        if person is not None and person.uid != owner:
            users[person.uid] = reading
    for user in team.accounts:
        person = account(user)
        if person is None:
            outcome.notes.append(
                (
                    Message("event.no_account", "team {team}: account {user} does not exist on this machine"),
                    {"team": team.name, "user": user},
                )
            )
        elif person.uid == owner:
            continue
        elif group is None:
            users[person.uid] = everything
        elif group in person.groups:
            # for a tutor who is also a member: a list's entry for a user goes before those for the user's groups
            users.pop(person.uid, None)
        else:
            values = {"team": team.name, "user": user, "group": team.group or ""}
            outcome.notes.append((Message("event.not_in_group", "team {team}: {user} is not in group {group}"), values))
    mode = TEAM_MODE if group is not None else TEAM_MODE & 0o777
    return WantedDirectory(Path(), "team", owner, mode, group, tuple(users.items()), team=team.name)


def make_shared(event: "Event", folder: Path, outcome: DirectoriesMade, *, dry: bool) -> None:
    """Create or repair the event's board, in its present mode or else sticky, and add it to the outcome.

    Raises RequestError and HackathonError as `make_place` does.
    """
    if not event.shared:
        outcome.notes.append((Message("event.no_shared", "`shared` is missing: there is no board"), {}))
        return
    import shlex

    from hackathon.board.directory import FOLDER_MODE, RECORD, make_place
    from hackathon.board.people import People
    from hackathon.text.files import read_json

    path = Path(os.path.normpath(folder.absolute() / expanded(event.shared)))
    state = "there" if os.path.isdir(path) else "made"  # noqa: PTH112 — False where the organiser may not look
    directory = Made(WantedDirectory(path, "board", os.geteuid(), FOLDER_MODE), state)
    outcome.folders.append(directory)
    existing = read_json(path / RECORD)
    mode = existing.get("mode") if isinstance(existing, dict) else None
    if not dry:
        try:
            board, commands = make_place(path, str(mode or "sticky"), People(event).known())
        except HackathonError as error:
            # the teams' folders do not depend on the board, which may be on another file system
            directory.state, directory.why = "missing", error.message
            return
        if directory.state == "there" and _opened(path):
            directory.state = "mended"
        outcome.notes += board.problems
        outcome.commands += [shlex.split(line) for line in commands]
    if not dry or directory.state == "there":
        directory.found = path.stat()


def _opened(path: Path) -> bool:
    """Open this account's shared directory to others if nobody else can enter it; return whether that was needed."""
    status = path.lstat()
    mode, through = stat.S_IMODE(status.st_mode), 0o005
    # a directory that is open to a group may be closed to others on purpose
    group_too = mode & 0o050 == 0o050
    if group_too or mode & through == through or status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
        return False
    give(path, mode | 0o055)
    return True


def owner_of(folder: Path) -> int:
    """Return the owner of an event's directories: the owner of hackathon.yaml; for root, who called sudo.

    Else the user.
    """
    from hackathon.config.load import EVENT_FILE

    try:
        owner = (folder / EVENT_FILE).lstat().st_uid
        # a folder's owner can put any file there, so a file of root's in an organiser's folder does not speak for root
        return folder.stat().st_uid if owner == 0 else owner
    except OSError:
        sudo = os.environ.get("SUDO_UID", "")
        return int(sudo) if os.geteuid() == 0 and sudo.isdecimal() else os.geteuid()


def _look(plan: WantedDirectory) -> Made:
    """Return the expected outcome for a directory."""
    try:
        status = plan.path.lstat()
    except FileNotFoundError:
        return Made(plan, "made", commands=_commands(plan, None))
    except OSError as error:
        return Made(plan, "missing", why=error.strerror or str(error))
    why = _not_ours(plan, status)
    if why:
        return Made(plan, "left", status, why)
    try:
        good = not _differs(plan, status, plan.path)
    except OSError as error:
        return Made(plan, "left", status, error.strerror or str(error))
    return Made(plan, "there" if good else "mended", status, commands=_commands(plan, status))


def _make(plan: WantedDirectory, base: Path, owner: int) -> Made:
    from hackathon.config.load import EVENT_FILE

    directory = Made(plan)
    try:
        with parent_below(plan.path, base, EVENT_FILE, owner) as parent:
            try:
                os.mkdir(plan.path.name, 0o700, dir_fd=parent)
                directory.state = "made"
            except FileExistsError:
                pass
            # only the opened directory is changed, never a link or another directory that replaced it meanwhile
            descriptor = os.open(plan.path.name, OPEN_FOLDER, dir_fd=parent)
    except OSError as error:
        looked = _look(plan)
        directory.state = "left" if looked.state == "left" else "missing"
        directory.why = looked.why or error.strerror or str(error)
        return directory
    try:
        status = os.fstat(descriptor)
        if directory.state == "made" and status.st_uid == os.geteuid():
            # root creates it for the organiser; another account is the organiser already
            if os.geteuid() == 0:
                os.fchown(descriptor, plan.owner, -1)
        else:
            directory.why = _not_ours(plan, status)
            if directory.why:
                directory.state, directory.found = "left", status
                return directory
        before = directory.state == "there" and not _differs(plan, status, descriptor)
        if not before:
            _mend(plan, descriptor, directory)
            directory.state = "made" if directory.state == "made" else "mended"
        directory.found = os.fstat(descriptor)
        directory.commands += _commands(plan, directory.found)
        if directory.state == "mended" and _same(status, directory.found) and directory.commands:
            directory.state = "there"
    except OSError as error:
        raise HackathonError(
            "event.can_not_make", "cannot create {path}: {what}", path=plan.path, what=error.strerror or str(error)
        ) from error
    finally:
        os.close(descriptor)
    return directory


def _mend(plan: WantedDirectory, descriptor: int, directory: Made) -> None:
    """Set a directory's group, mode and lists, as far as this account may."""
    if plan.group is not None and os.fstat(descriptor).st_gid != plan.group:
        try:
            os.fchown(descriptor, -1, plan.group)
        except PermissionError:
            pass  # this account is not in the group, so an administrator gets the command
    # after the owner and the group, because changing those clears the setgid bit
    state = os.fstat(descriptor)
    if stat.S_IMODE(state.st_mode) != _mode_now(plan, state.st_gid):
        os.fchmod(descriptor, _mode_now(plan, state.st_gid))
    acl = _list_now(plan)
    if acl is None:
        return
    try:
        for name in (DEFAULT_LIST, ACCESS_LIST):
            if read_list(descriptor, name) != acl:
                os.setxattr(descriptor, name, packed(acl))
    except OSError as error:
        if error.errno not in _NO_LISTS:
            raise
        directory.why = _(
            "this file system does not support access control lists, so tutors cannot be given access individually"
        )


def _mode_now(plan: WantedDirectory, group: int) -> int:
    """Return the mode for a directory until it belongs to its group; the wrong group gets no permission."""
    wrong = plan.what == "team" and group != plan.group
    return (plan.mode & ~0o2070) if wrong else plan.mode


def _list_now(plan: WantedDirectory) -> Acl | None:
    """Return the access control list that a directory should have.

    It names the team's group even when the directory belongs to it. An account outside the group then has nothing to
    repair, which would clear the setgid bit (posix_acl_update_mode in Linux). Files of members are open to their team,
    whatever group they belong to.
    """
    if plan.what != "team":
        return plan.acl
    named = () if plan.group is None else ((plan.group, READ | WRITE | ENTER),)
    return group_list(plan.mode & 0o707, plan.users, (*plan.groups, *named))


def _differs(plan: WantedDirectory, status: os.stat_result, path: Path | int) -> bool:
    """Return whether a directory's group, mode or list differs from the best that is possible now."""
    if plan.what == "event":
        return False  # a directory above the teams' folders keeps the organiser's mode
    acl = _list_now(plan)
    group_differs = plan.group is not None and status.st_gid != plan.group
    if acl is None:
        return group_differs or stat.S_IMODE(status.st_mode) != _mode_now(plan, status.st_gid)
    special = stat.S_IMODE(status.st_mode) & 0o7000 != _mode_now(plan, status.st_gid) & 0o7000
    return group_differs or special or read_list(path) != acl or read_list(path, DEFAULT_LIST) != acl


def _not_ours(plan: WantedDirectory, status: os.stat_result) -> str:
    """Return why an existing directory is not changed; empty if it may be repaired."""
    if not stat.S_ISDIR(status.st_mode):
        return _("it is not a directory")
    if status.st_uid != plan.owner or os.geteuid() not in (0, status.st_uid):
        return _("it belongs to {user}", user=user_name(status.st_uid))
    return ""


def _commands(plan: WantedDirectory, status: os.stat_result | None) -> list[list[str]]:
    """Return an administrator's commands for a directory; `status` None means that this process will create it."""
    if plan.group is None or os.geteuid() == 0:
        return []
    if status is None and plan.group in os.getgroups():
        return []
    path = str(plan.path)
    lines = []
    if status is None or status.st_gid != plan.group:
        lines.append(["chgrp", "-h", "--", group_name(plan.group), path])
    if status is None or lines or plan.mode & ~status.st_mode & stat.S_ISGID:
        # chmod follows links, so `find` skips whatever replaced the folder before root runs this
        search = ["find", path, "-maxdepth", "0", "-type", "d", "-user", user_name(plan.owner)]
        lines.append([*search, "-exec", "chmod", f"{plan.mode:o}", "--", "{}", ";"])
    return lines


def _same(before: os.stat_result, other: os.stat_result) -> bool:
    return (before.st_mode, before.st_gid, before.st_uid) == (other.st_mode, other.st_gid, other.st_uid)
