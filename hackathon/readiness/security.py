"""What others could read or change of the user's account: home, umask, secrets, caches, runs, shared folders.

`hackathon doctor --security` prints it. A team's folder in an event is writable by the team on purpose.
"""

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.exposure import can_change, can_read
from hackathon.access.permissions import Others, group_names, is_private_group, open_to_others
from hackathon.access.private import TEMPORARY, node_folder
from hackathon.jobs.script import SCRIPTS
from hackathon.runs.directory import READ, list_ids
from hackathon.runs.doctor import BAD, GOOD, WARNING, DoctorFinding
from hackathon.runs.job_owner import account_name
from hackathon.text.messages import N_, NP_, _
from hackathon.text.paths import expanded, user_cache, user_config

if TYPE_CHECKING:
    from hackathon.config.event import Event

SECRETS = (
    ".netrc", ".git-credentials", ".pypirc", ".aws/credentials", ".kaggle/kaggle.json", ".huggingface/token",
    ".cache/huggingface/token", ".docker/config.json", ".ssh/id_rsa", ".ssh/id_ecdsa", ".ssh/id_ed25519",
)  # fmt: skip
"""Files in a home with keys and passwords of programs that are common in this field."""
MOST_RUNS = 200
"""Runs that are checked, newest first."""


def examine(runs: Path, event: "tuple[Path, Event] | None" = None) -> list[DoctorFinding]:
    """Return the findings; `runs` is the folder of the user's runs, `event` the event's folder and content."""
    home = _home()
    findings = [_umask()]
    if home is not None:
        findings += _folder(home, N_("home"))
        findings += [_secrets(home)]
    for folder in (user_config(), user_cache()):
        findings += _folder(folder, N_("toolkit's folder"))
    findings += _node_folders()
    team = _team_folders(event)
    project = runs.parent
    if _is_own(project) and (runs.is_dir() or (project / "project.yaml").is_file()):
        findings += _folder(project, N_("project"), level=WARNING, shared=_within(project, team))
    findings += _runs(runs, shared=_within(project, team))
    if event is not None:
        findings += _event(*event)
    findings += _search_paths()
    return findings


def _finding(about: str, level: str, key: str, remedy: str = "", **values: object) -> DoctorFinding:
    return DoctorFinding(_(about), level, _(key, **values), remedy)


def _open(about: str, path: Path, status: os.stat_result) -> DoctorFinding:
    return _finding(
        about,
        BAD,
        N_("{path} is open to others (mode {mode})"),
        f"chmod 700 {shlex.quote(str(path))}",
        path=path,
        mode=f"{stat.S_IMODE(status.st_mode):04o}",
    )


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _words(accounts: Others) -> str:
    """Return a text that names the accounts."""
    if accounts.everybody:
        return _("every user of this machine")
    words = [_("members of the group {name}", name=name) for name in group_names(accounts.groups)]
    return ", ".join([*words, *(account_name(uid) for uid in sorted(accounts.users))])


def _umask() -> DoctorFinding:
    mask = os.umask(0o077)
    os.umask(mask)
    octal = f"{mask:03o}"
    # this process changes a umask of 000 (`cli.main`); its parent has the shell's
    with suppress(OSError, StopIteration, ValueError):
        lines = Path(f"/proc/{os.getppid()}/status").read_text().splitlines()
        mask = int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
        octal = f"{mask:03o}"
    if not mask & stat.S_IWOTH:
        return _finding(
            N_("umask"),
            BAD,
            N_("{mask}: every user of this machine can change your new files"),
            "umask 022",
            mask=octal,
        )
    if not mask & stat.S_IWGRP and not is_private_group(os.getgid(), {os.geteuid()}):
        group = group_names([os.getgid()])[0]
        return _finding(
            N_("umask"),
            WARNING,
            N_("{mask}: members of the group {group} can change your new files"),
            "umask 022",
            mask=octal,
            group=group,
        )
    return _finding(N_("umask"), GOOD, N_("{mask}: others cannot change your new files"), mask=octal)


def _folder(path: Path, about: str, *, level: str = BAD, shared: bool = False) -> Iterator[DoctorFinding]:
    """Yield who can change a folder; nothing for a folder that is missing or cannot be checked.

    `level`: for a folder that some can change, and not everybody.
    """
    try:
        writers = can_change(path)
    except OSError:
        return
    if not writers:
        yield _finding(about, GOOD, N_("only you can change {path}"), path=path)
    elif shared and not writers.everybody:
        yield _finding(
            about, GOOD, N_("{who} can change {path}, as intended for a team's folder"), path=path, who=_words(writers)
        )
    else:
        grave = BAD if writers.everybody else level
        yield _finding(
            about,
            grave,
            N_("{who} can change {path} (see the mode of {place})"),
            _closing(writers),
            path=path,
            who=_words(writers),
            place=writers.place,
        )


def _closing(writers: Others) -> str:
    """Return the command that removes the write access."""
    path = shlex.quote(str(writers.place))
    # with an access list the group's bits are its mask: no named account can write then, all can still read
    letters = "go-w" if writers.everybody and writers.users else "o-w" if writers.everybody else "g-w"
    return f"chmod {letters} {path}"


def _secrets(home: Path) -> DoctorFinding:
    paths = [*(home / name for name in SECRETS), user_config() / "notify" / "url"]
    closed = 0
    for path in paths:
        try:
            readers = can_read(path)
        except OSError:
            continue
        if readers:
            return _finding(
                N_("keys and passwords"),
                BAD,
                N_("{who} can read {path}"),
                f"chmod 600 {shlex.quote(str(path))}",
                path=path,
                who=_words(readers),
            )
        closed += 1
    return _finding(
        N_("keys and passwords"), GOOD, N_("{count} known {count:file|files} found, readable only by you"), count=closed
    )


def _node_folders() -> Iterator[DoctorFinding]:
    """Check this user's folders on this node, which anybody could have created first."""
    user = os.geteuid()
    local = Path(os.environ.get("HACKATHON_LOCAL_DIR") or TEMPORARY / f"hackathon-local-{user}")
    for path in dict.fromkeys((node_folder(), local, TEMPORARY / f"hackathon-jobs-{user}")):
        try:
            status = path.lstat()
        except OSError:
            continue
        if status.st_uid != user or not stat.S_ISDIR(status.st_mode):
            yield _finding(
                N_("folder on this node"),
                BAD,
                N_("{path} belongs to {user}; the toolkit does not use it"),
                _("ask the support of the computing centre to remove it"),
                path=path,
                user=account_name(status.st_uid),
            )
        elif open_to_others(status):
            yield _open(N_("folder on this node"), path, status)
        else:
            yield _finding(N_("folder on this node"), GOOD, N_("only you can change {path}"), path=path)


def _runs(runs: Path, *, shared: bool) -> Iterator[DoctorFinding]:
    """Yield what others can do with the user's runs: change them, read secrets in them, or read them."""
    if not runs.is_dir():
        return
    try:
        writers = can_change(runs)
        reading = can_read(runs)
        names = list_ids(runs)[:MOST_RUNS]
    except OSError:
        return
    if writers and not (shared and not writers.everybody):
        level = BAD if writers.everybody else WARNING
        yield _finding(
            NP_("security", "runs"),
            level,
            N_("{who} can change {path} (see the mode of {place})"),
            _closing(writers),
            path=runs,
            who=_words(writers),
            place=writers.place,
        )
    own = [runs / name for name in names if _is_own(runs / name)]
    wrong = [
        (path, accounts) for path in own if (accounts := _changers_within(path)) and accounts.place != writers.place
    ]
    if wrong:
        path, accounts = wrong[0]
        yield _finding(
            NP_("security", "runs"),
            BAD,
            N_("{who} can change {count} of your runs, for example {path}"),
            f"chmod -R go-w {shlex.quote(str(runs))}",
            count=len(wrong),
            path=accounts.place or path,
            who=_words(accounts),
        )
    secret = [path for run in own for path in sorted(run.glob("env/job-*.sh"))]
    for path in secret:
        with suppress(OSError):
            if accounts := can_read(path):
                command = f"chmod 600 {shlex.quote(str(path.parent))}/job-*.sh"
                yield _finding(
                    N_("keys and passwords"), BAD, N_("{who} can read {path}"), command, path=path, who=_words(accounts)
                )
                break
    if not wrong:
        yield _finding(
            NP_("security", "runs"),
            GOOD,
            N_("only you can change the {count} {count:run|runs} of yours in {path}"),
            count=len(own),
            path=runs,
        )
    if reading:
        yield _finding(
            NP_("security", "runs"),
            GOOD,
            N_("{who} can read logs, results, and sources in {path}; this is usual, and tutors need it"),
            path=runs,
            who=_words(reading),
        )


def _is_own(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _changers_within(run: Path) -> Others | None:
    """Return who can change a run's folder, or the files that decide whether its results are trusted."""
    for name in ("", *READ, "source", *SCRIPTS):
        with suppress(OSError):
            if writers := can_change(run / name):
                return writers
    return None


def _team_folders(event: "tuple[Path, Event] | None") -> list[Path]:
    """Return the folders of the user's teams, in which other members may write."""
    if event is None:
        return []
    from hackathon.config.event import team_folders

    folder, content = event
    user = account_name(os.geteuid())
    teams = [team for team in content.teams if user in team.accounts]
    return [path for team in teams for path in team_folders(team, folder)]


def _within(path: Path, folders: Sequence[Path]) -> bool:
    real = os.path.realpath(path)
    return any(Path(real).is_relative_to(os.path.realpath(folder)) for folder in folders)


def _event(folder: Path, event: "Event") -> Iterator[DoctorFinding]:
    """Check the event's board, in which everybody writes, and the surveys, which only its organiser may read."""
    from hackathon.board.directory import open_place
    from hackathon.text.errors import HackathonError

    if event.shared:
        path = folder / expanded(event.shared)
        try:
            board = open_place(path)
        except (HackathonError, OSError):
            pass
        else:
            for identifier, values in board.problems:
                yield DoctorFinding(_("board"), BAD, _(identifier, **values),
                                    _("tell the organiser: `hackathon event check` shows what to do"))  # fmt: skip
            if not board.problems:
                yield _finding(
                    N_("board"), GOOD, N_("nobody can change or delete another's posts in {path}"), path=path
                )
    surveys = folder / "surveys"
    if _is_own(surveys):
        status = surveys.lstat()
        if open_to_others(status):
            yield _open(N_("surveys"), surveys, status)


def _search_paths() -> Iterator[DoctorFinding]:
    """Yield folders in which others could put a program or module that the user then runs."""
    good = True
    for variable in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH"):
        for text in dict.fromkeys(os.environ.get(variable, "").split(os.pathsep) if os.environ.get(variable) else ()):
            if not text.startswith("/"):
                good = False
                yield _finding(
                    N_("search paths"),
                    WARNING,
                    N_("{text} in {variable} means the current folder, which may be somebody else's"),
                    _("remove it from the variable"),
                    variable=variable,
                    text=text or '""',
                )
                continue
            with suppress(OSError):
                writers = can_change(Path(text))
                if writers.everybody:
                    good = False
                    yield _finding(
                        N_("search paths"),
                        BAD,
                        N_("{path} in {variable}: every user can put programs there (see the mode of {place})"),
                        _("remove it from the variable"),
                        variable=variable,
                        path=text,
                        place=writers.place,
                    )
    if good:
        yield _finding(
            N_("search paths"), GOOD, N_("no folder in PATH, PYTHONPATH, or LD_LIBRARY_PATH is writable by every user")
        )
