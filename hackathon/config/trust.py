"""Decide which events and projects above a folder count.

Those of the user and of root count. Another account's event counts after the user has trusted it (`hackathon trust`);
in such an event, projects of the user's own team count, too. All others are read as data.
"""

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hackathon.access.acl import group_id
from hackathon.access.ownership import (
    ForeignFile,
    Look,
    Trusted,
    foreign_below,
    look,
    own,
)
from hackathon.access.permissions import Others, group_name, user_name
from hackathon.config import load
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import _, ngettext
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event

SEARCHED = ("templates", "templates/jobs", "templates/clusters", "templates/rules", "recipes")
"""Folders of a project or event whose files are used if the folder counts."""
NAMED = 6
"""Teams of an event that are named when the user is asked about it."""


class UntrustedEventError(RequestError):
    """An event of another account that the user has not decided about; `found` is its file."""

    def __init__(self, event_file: Look) -> None:
        folder = shlex.quote(printable(str(event_file.path.parent)))
        super().__init__(
            "trust.event",
            "{about} You have not trusted it yet.",
            hint="if you take part in it, type: hackathon trust {folder!q}; otherwise: hackathon trust --ignore "
            "{folder!q}",
            about=about(event_file),
            folder=folder,
        )
        self.found = event_file


class ForeignError(RequestError):
    """The toolkit would run a command, an environment or a template of another account."""

    def __init__(self, file: ForeignFile) -> None:
        path = file.path.parent if file.path.name == load.PROJECT_FILE else file.path
        super().__init__(
            "trust.foreign",
            "{what}; commands, environments and templates of other accounts are not run",
            hint="check {place} first; --trust then runs it once, and `hackathon trust FOLDER` trusts a project "
            "from now on. If it is yours, you can also close it to others: chmod go-w",
            what=why(file),
            place=shlex.quote(printable(str(path))),
        )


class ForeignFolderError(RequestError):
    """The toolkit would write into a folder that another account owns, can write or can replace."""

    def __init__(self, folder: ForeignFile) -> None:
        super().__init__(
            "trust.foreign_folder",
            "{what}; nothing is written there, for others could replace it or put links and programs into it",
            hint="use a folder of your own, remove {folder} if it is not yours to keep, or close it: chmod go-w. "
            "--trust uses it this once; a project of your team counts after `hackathon trust`",
            what=why(folder),
            folder=shlex.quote(printable(str(folder.path))),
        )


class TrustedEvent(NamedTuple):
    """An event that counts."""

    folder: Path
    record: "Event"
    trusted: Trusted
    """The accounts whose files in its folder count."""


def trusted_event(start: Path, *, asked: bool = False) -> TrustedEvent | None:
    """Return the nearest event from `start` upwards, None without one; `asked`: of any owner.

    Raises UntrustedEventError for one of another account that the user has not decided about, ConfigError for an
    invalid one.
    """
    event_file = _event(start)
    if event_file is None:
        return None
    trusted = own() if asked else _trust_of(event_file)
    if trusted is None:
        raise UntrustedEventError(event_file)
    return TrustedEvent(event_file.path.parent, load.load_event(event_file.path.parent, event_file.raw), trusted)


def trusted_event_folder(start: Path) -> Path | None:
    """Return the folder of the nearest event, None without one; its file may be invalid.

    Raises UntrustedEventError like `trusted_event`.
    """
    event_file = _event(start)
    if event_file is not None and _trust_of(event_file) is None:
        raise UntrustedEventError(event_file)
    return event_file.path.parent if event_file is not None else None


def event_that_counts(start: Path) -> Path | None:
    """Return the folder of the nearest event if it counts, without asking the user or reading the file."""
    event_file = _event(start)
    return event_file.path.parent if event_file is not None and _trust_of(event_file) is not None else None


def folders_that_count(start: Path, run: Path | None = None) -> list[Path]:
    """Return the folders around `start` whose rules, clusters and recipes are searched: the project's, the event's.

    Folders that do not count are skipped silently, because reading them is optional. For a `run` the project of the
    run's owner counts, too: it affects only their own runs.
    """
    folders = []
    event: TrustedEvent | None = None
    event_file = _event(start)
    trusted = _trust_of(event_file) if event_file is not None else None
    if event_file is not None and trusted is not None:
        with contextlib.suppress(RequestError):  # other code reports the problems of the file when it needs it
            event = TrustedEvent(
                event_file.path.parent, load.load_event(event_file.path.parent, event_file.raw), trusted
            )
    project = load.find_project(start)
    if project is not None and look_at_project(project, event, run).foreign is None:
        folders.append(project)
    if (
        event_file is not None
        and trusted is not None
        and foreign_below(event_file.path.parent, SEARCHED, trusted) is None
    ):
        folders.append(event_file.path.parent)
    return folders


def people(event: TrustedEvent | None) -> Trusted:
    """Return who may own and write projects that count: the user, and in an event the user's team and its group."""
    trusted = own()
    if event is None:
        return trusted
    user = user_name(os.geteuid())
    for team in event.record.teams:
        members = team.accounts
        if user in members:
            number = group_id(team.group) if team.group else None
            groups = frozenset() if number is None else frozenset({number})
            trusted |= Trusted(frozenset(_numbers(members)), groups) | event.trusted
    return trusted


_TAKEN: set[Path] = set()
"""Projects whose files this process uses for any owner: the user passed --trust."""


def take(project: Path) -> None:
    """Record that the user passed --trust for a project: its folders may be written, too."""
    _TAKEN.add(project.resolve())


def writable_folder(folder: Path) -> Path:
    """Return a folder that the toolkit writes into or runs from, created if missing (`access.written`).

    The project and the event around it decide whose folders count. Raises ForeignFolderError, and OSError when it
    cannot be created.
    """
    from hackathon.access import written

    try:
        return written.writable_folder(folder, _writers_around(folder.absolute()))
    except written.FolderOfOthersError as error:
        if any(project in (folder.resolve(), *folder.resolve().parents) for project in _TAKEN):
            folder.mkdir(parents=True, exist_ok=True)
            return folder.absolute()
        raise ForeignFolderError(error.foreign) from None


def _writers_around(folder: Path) -> Trusted:
    """Return who may own and write the folders around a path: the user, their team, accounts that they trust."""
    event: TrustedEvent | None = None
    with contextlib.suppress(HackathonError):  # other code reports the problems of the event's file when it needs it
        event = trusted_event(folder)
    trusted = people(event) if event is None else people(event) | event.trusted
    project = load.find_project(folder)
    return trusted if project is None else trusted | look_at_project(project, event).trusted


class FoundProject(NamedTuple):
    """A project before it is trusted."""

    folder: Path
    raw: bytes | None
    """The content of project.yaml when its owner was checked."""
    trusted: Trusted
    """The accounts whose files in it count."""
    foreign: ForeignFile | None
    """Its part that does not count: project.yaml, or the first of its templates; None when all of it counts."""


def look_at_project(folder: Path, event: TrustedEvent | None, beside: Path | None = None) -> FoundProject:
    """Return a project with its part that does not count. Files of the owner of `beside` count, too."""
    trusted = people(event)
    if beside is not None:
        trusted |= Trusted(frozenset({beside.stat().st_uid}))
    try:
        file = look(folder / load.PROJECT_FILE)
    except OSError:
        return FoundProject(folder, None, trusted, None)  # it was removed at this moment
    strangers = trusted.strangers(file.writers)
    if strangers:
        from hackathon.access.trust_record import TRUST, decided

        entry = decided(file)
        if entry is None or entry.answer != TRUST:
            return FoundProject(folder, file.raw, trusted, ForeignFile(file.path, file.owner, strangers))
        trusted |= entry.trusted
    return FoundProject(folder, file.raw, trusted, foreign_below(folder, SEARCHED, trusted))


def about(event_file: Look) -> str:
    """Return the facts for trusting an event: file, owner, who can write it, teams."""
    strangers = own().strangers(event_file.writers)
    values = {"file": printable(str(event_file.path)), "owner": user_name(event_file.owner)}
    return f"{_('The event {file} belongs to {owner}.', **values)}{_also(event_file, strangers)} {_teams(event_file)}"


def about_project(project_file: Look) -> str:
    """Return the facts for trusting a project: file, owner, who can write it."""
    strangers = own().strangers(project_file.writers)
    values = {"file": printable(str(project_file.path)), "owner": user_name(project_file.owner)}
    return _("The project {file} belongs to {owner}.", **values) + _also(project_file, strangers)


def why(file: ForeignFile) -> str:
    """Return why a file does not count, as text."""
    path = printable(str(file.path))
    if file.owner in file.strangers.owners:
        return _("{path} belongs to {owner}", path=path, owner=user_name(file.owner))
    return _("{path} can be changed by {who}", path=path, who=_names(file.strangers))


def _also(event_file: Look, strangers: Others) -> str:
    writers = replace(strangers, owners=strangers.owners - {event_file.owner})
    return " " + _("{who} can change it, too.", who=_names(writers)) if writers else ""


def _names(accounts: Others) -> str:
    names = [user_name(number) for number in sorted(accounts.owners | accounts.users)]
    names += [_("group {name}", name=group_name(number)) for number in sorted(accounts.groups)]
    return ", ".join([*names, *([_("everybody")] if accounts.everybody else [])])


def _teams(event_file: Look) -> str:
    """Return number and names of an event's teams; the problems of an invalid file."""
    try:
        teams: Sequence[str] = [team.name for team in load.load_event(event_file.path.parent, event_file.raw).teams]
    except HackathonError as error:
        return printable(error.message)
    if not teams:
        return _("It has no teams.")
    names = ", ".join(printable(name)[:40] for name in teams[:NAMED]) + (", …" if len(teams) > NAMED else "")
    return ngettext(
        "It has {count} team: {names}.", "It has {count} teams: {names}.", len(teams), count=len(teams), names=names
    )


def _event(start: Path) -> Look | None:
    """Return the nearest event from a folder upwards that the user does not ignore, whether it counts or not."""
    folder = load.find_event(start)
    try:
        return look(folder / load.EVENT_FILE) if folder is not None else None
    except OSError:
        return None  # it was removed at this moment


def _trust_of(event_file: Look) -> Trusted | None:
    """Return the accounts whose files count in an event's folder, None unless the user has trusted it."""
    if not own().strangers(event_file.writers):
        return own()
    from hackathon.access.trust_record import TRUST, decided

    entry = decided(event_file)
    return own() | entry.trusted if entry is not None and entry.answer == TRUST else None


def _numbers(users: Sequence[str]) -> Iterator[int]:
    import pwd

    for user in users:
        try:
            yield pwd.getpwnam(user).pw_uid
        except (KeyError, ValueError):
            continue
