"""The event's shared directory: find it, create it, and check that no user can alter another's files.

<shared>/board.json   {"schema_version", "id", "mode"}, written once by the board's creator
<shared>/entries/     mode `sticky`: a 1777 directory; only a file's owner can delete or rename it there
<shared>/people/      mode `folders`: a folder for each user, owned by that user and writable by nobody else
"""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.permissions import others_replace, others_write, user_name
from hackathon.access.publish import publish
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import Message
from hackathon.text.paths import expanded

if TYPE_CHECKING:
    from hackathon.config.event import Event

MODES = ("sticky", "folders")
VARIABLE = "HACKATHON_SHARED"
RECORD, ENTRIES, PEOPLE = "board.json", "entries", "people"
STICKY_MODE, FOLDER_MODE = 0o1777, 0o755

Problem = tuple[str, dict[str, Any]]
"""A message id and its values."""


@dataclass(frozen=True)
class BoardDirectory:
    """A board's directory, checked."""

    path: Path
    mode: str
    """sticky or folders."""
    board: str
    """The board's id: 16 random characters."""
    keepers: frozenset[int]
    """Users who may own its directories: root, the board's creator, the owner of the directory above."""
    problems: list[Problem] = field(default_factory=list)
    """Reasons why others can delete or replace posts; nothing is written while there are any."""

    @property
    def folder(self) -> Path:
        """The directory of the entries, or of the users' folders."""
        return self.path / (ENTRIES if self.mode == "sticky" else PEOPLE)


def find_shared(shared: Path | None, environment: Mapping[str, str], start: Path) -> Path:
    """Return the event's shared directory: `shared`, else HACKATHON_SHARED, else that of the event around `start`.

    Raises RequestError if none is configured, and UntrustedEventError.
    """
    if shared is not None:
        return shared.absolute()
    if environment.get(VARIABLE):
        return expanded(environment[VARIABLE]).absolute()
    from hackathon.config.trust import trusted_event

    # others read what is written in the directory that an event names, so the event must be trusted
    event = trusted_event(start)
    if event is None or not event.record.shared:
        raise RequestError(
            "board.no_shared",
            "no shared directory is configured for the event",
            hint="give --shared DIR, set HACKATHON_SHARED, or write `shared: DIR` in hackathon.yaml",
        )
    return event.folder / expanded(event.record.shared)


def find_people(directory: BoardDirectory, start: Path) -> "Event | None":
    """Return the event whose people use a board: the event around `start`, else the one beside or above the board.

    An event of another account counts only if the user trusts it; one beside the board only if no account but the
    board's keepers can have written it.
    """
    from hackathon.config.load import EVENT_FILE, find_event, load_event
    from hackathon.config.trust import event_that_counts

    folder = event_that_counts(start)
    if folder is None:
        folder = find_event(directory.path)
        if folder is not None:
            status = (folder / EVENT_FILE).stat()
            if status.st_uid not in directory.keepers or others_write(status):
                return None
    return load_event(folder) if folder else None


def open_place(path: Path) -> BoardDirectory:
    """Return the board in a directory, with the problems of its owners and modes.

    Raises RequestError if the directory contains no board.
    """
    try:
        top = path.stat()
        record_file = (path / RECORD).lstat()
    except OSError as error:
        raise RequestError(
            "board.not_made",
            "there is no board in {folder}",
            hint="the organisers create it once with `hackathon board init {folder!q}`",
            folder=path,
        ) from error
    record = read_json(path / RECORD)
    if not stat.S_ISREG(record_file.st_mode) or not isinstance(record, dict):
        raise RequestError(
            "board.not_made",
            "there is no board in {folder}",
            hint="the organisers create it once with `hackathon board init {folder!q}`",
            folder=path,
        )
    from hackathon.board.entry import SCHEMA_VERSION

    version = record.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RequestError(
            "board.newer",
            "the board in {folder} was made by a newer hackathon (version {version}), which this one cannot read",
            hint="Update hackathon: `hackathon docs install` shows how.",
            folder=path,
            version=version,
        )
    mode, board = record.get("mode"), record.get("id")
    if mode not in MODES or not isinstance(board, str) or not board:
        raise RequestError(
            "board.not_made",
            "there is no board in {folder}",
            hint="the organisers create it once with `hackathon board init {folder!q}`",
            folder=path,
        )
    keepers = frozenset({0, top.st_uid, record_file.st_uid})
    directory = BoardDirectory(path, mode, board, keepers)
    if others_write(record_file):
        directory.problems.append(
            (
                Message("board.open_to_others", "{path} can be changed by other users: chmod go-w"),
                {"path": str(path / RECORD)},
            )
        )
    directory.problems.extend(_above(path))
    directory.problems.extend(folder_problems(directory, _lstat(directory.folder)))
    return directory


def folder_problems(directory: BoardDirectory, status: os.stat_result | None) -> list[Problem]:
    """Return the problems of the directory of entries (or of users' folders); `status` is its `stat`."""
    values = {"path": str(directory.folder)}
    if status is None or not stat.S_ISDIR(status.st_mode):
        return [(Message("board.folder_gone", "{path} is not a directory"), values)]
    if status.st_uid not in directory.keepers:
        return [
            (
                Message(
                    "board.folder_replaced",
                    "{path} does not belong to the creator of the board: somebody may have replaced it",
                ),
                values,
            )
        ]
    if others_replace(status):
        return [
            (
                Message(
                    "board.not_sticky",
                    "anyone can delete posts in {path}: it is writable without the sticky bit (chmod 1777)",
                ),
                values,
            )
        ]
    return []


def _above(path: Path) -> list[Problem]:
    """Return the directories above whose writers could replace the board's directory."""
    resolved = path.resolve()
    problems: list[Problem] = []
    for folder in (resolved, *resolved.parents):
        status = _lstat(folder)
        if status is not None and others_replace(status):
            problems.append(
                (
                    Message(
                        "board.replaceable",
                        "other users can change {path} and replace the board with another directory (chmod go-w or +t)",
                    ),
                    {"path": str(folder)},
                )
            )
    return problems


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def make_place(path: Path, mode: str, users: Iterable[str] = ()) -> tuple[BoardDirectory, list[str]]:
    """Create a board in a directory, or repair an existing one; return it with the tasks for an administrator.

    In mode `folders`, root creates the folder of each user; another user creates the folders that he can and gets
    commands for the others. Raises RequestError (the board has another mode, or the directory cannot be created) and
    HackathonError if the file system does not keep the modes.
    """
    import json

    from hackathon.access.safe_directories import give

    try:
        new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        if new:
            give(path, FOLDER_MODE)
        existing = read_json(path / RECORD)
        if isinstance(existing, dict) and existing.get("mode") != mode:
            raise RequestError(
                "board.other_mode",
                "the board in {path} already exists, in mode {mode}",
                path=path,
                mode=existing.get("mode"),
            )
        folder = path / (ENTRIES if mode == "sticky" else PEOPLE)
        folder.mkdir(exist_ok=True)
        new_mode = STICKY_MODE if mode == "sticky" else FOLDER_MODE
        status = folder.lstat()
        if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o1777 != new_mode:
            give(folder, new_mode)
        if existing is None:
            from hackathon.board.entry import SCHEMA_VERSION, letters

            value: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "id": letters(16), "mode": mode}
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                publish(descriptor, RECORD, (json.dumps(value, indent=1) + "\n").encode())
            except FileExistsError:
                pass  # another process created it meanwhile; it is read below
            finally:
                os.close(descriptor)
        commands = _make_people(folder, users) if mode == "folders" else []
        directory = open_place(path)
        if mode == "sticky" and stat.S_IMODE(directory.folder.lstat().st_mode) & 0o1777 != STICKY_MODE:
            directory.problems.append(
                (
                    Message("board.not_writable", "participants cannot write to {path}: its mode is not 1777"),
                    {"path": str(directory.folder)},
                )
            )
    except OSError as error:
        raise HackathonError(
            "board.can_not_make",
            "cannot create a board in {path}: {what}",
            path=path,
            what=error.strerror or str(error),
        ) from error
    return directory, commands


def _make_people(folder: Path, users: Iterable[str]) -> list[str]:
    """Create the folders of users; return the commands for those that only root can create."""
    import pwd
    import shlex

    from hackathon.access.safe_directories import give

    own_name = user_name(os.geteuid())  # the number in containers, where a uid may have no account
    commands = []
    for user in dict.fromkeys([*users, own_name]):
        if "/" in user or user.startswith("."):
            continue
        own = folder / user
        if own.is_dir() and not own.is_symlink():
            continue
        try:
            uid = os.geteuid() if user == own_name else pwd.getpwnam(user).pw_uid
        except KeyError:
            continue  # no account on this machine, e.g. one of another cluster
        if os.geteuid() in (0, uid):
            own.mkdir(mode=0o700)
            give(own, FOLDER_MODE, uid if os.geteuid() == 0 else None)
        else:
            # mkdir fails on an existing name, and -h keeps chown from following a link that somebody puts there
            quoted = shlex.quote(str(own))
            commands += [f"mkdir -m 755 -- {quoted}", f"chown -h -- {shlex.quote(user)} {quoted}"]
    return commands
