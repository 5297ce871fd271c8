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
from hackathon.text.messages import message
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
        findings += _folder(home, "security.home")
        findings += [_secrets(home)]
    for folder in (user_config(), user_cache()):
        findings += _folder(folder, "security.folder")
    findings += _node_folders()
    team = _team_folders(event)
    project = runs.parent
    if _is_own(project) and (runs.is_dir() or (project / "project.yaml").is_file()):
        findings += _folder(project, "security.project", level=WARNING, shared=_within(project, team))
    findings += _runs(runs, shared=_within(project, team))
    if event is not None:
        findings += _event(*event)
    findings += _search_paths()
    return findings


def _finding(about: str, level: str, key: str, remedy: str = "", **values: object) -> DoctorFinding:
    return DoctorFinding(message(about), level, message(key, **values), remedy)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _words(accounts: Others) -> str:
    """Return a text that names the accounts."""
    if accounts.everybody:
        return message("security.everybody")
    words = [message("security.group", name=name) for name in group_names(accounts.groups)]
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
        return _finding("security.umask", BAD, "security.umask_open", "umask 022", mask=octal)
    if not mask & stat.S_IWGRP and not is_private_group(os.getgid(), {os.geteuid()}):
        group = group_names([os.getgid()])[0]
        return _finding("security.umask", WARNING, "security.umask_group", "umask 022", mask=octal, group=group)
    return _finding("security.umask", GOOD, "security.umask_good", mask=octal)


def _folder(path: Path, about: str, *, level: str = BAD, shared: bool = False) -> Iterator[DoctorFinding]:
    """Yield who can change a folder; nothing for a folder that is missing or cannot be checked.

    `level`: for a folder that some can change, and not everybody.
    """
    try:
        writers = can_change(path)
    except OSError:
        return
    if not writers:
        yield _finding(about, GOOD, "security.only_you", path=path)
    elif shared and not writers.everybody:
        yield _finding(about, GOOD, "security.team_changes", path=path, who=_words(writers))
    else:
        grave = BAD if writers.everybody else level
        yield _finding(
            about, grave, "security.change", _closing(writers), path=path, who=_words(writers), place=writers.place
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
                "security.secrets",
                BAD,
                "security.secret_open",
                f"chmod 600 {shlex.quote(str(path))}",
                path=path,
                who=_words(readers),
            )
        closed += 1
    return _finding("security.secrets", GOOD, "security.secrets_closed", count=closed)


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
                "security.node",
                BAD,
                "security.node_foreign",
                message("security.node_foreign_remedy"),
                path=path,
                user=account_name(status.st_uid),
            )
        elif open_to_others(status):
            yield _finding("security.node", BAD, "security.node_open", f"chmod 700 {shlex.quote(str(path))}", path=path,
                           mode=f"{stat.S_IMODE(status.st_mode):04o}")  # fmt: skip
        else:
            yield _finding("security.node", GOOD, "security.only_you", path=path)


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
            "security.runs",
            level,
            "security.change",
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
            "security.runs",
            BAD,
            "security.runs_open",
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
                    "security.secrets", BAD, "security.secret_open", command, path=path, who=_words(accounts)
                )
                break
    if not wrong:
        yield _finding("security.runs", GOOD, "security.runs_good", count=len(own), path=runs)
    if reading:
        yield _finding("security.runs", GOOD, "security.runs_read", path=runs, who=_words(reading))


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
                yield DoctorFinding(message("security.board"), BAD, message(identifier, **values),
                                    message("security.board_remedy"))  # fmt: skip
            if not board.problems:
                yield _finding("security.board", GOOD, "security.board_good", path=path)
    surveys = folder / "surveys"
    if _is_own(surveys):
        status = surveys.lstat()
        if open_to_others(status):
            yield _finding(
                "security.surveys",
                BAD,
                "security.surveys_open",
                f"chmod 700 {shlex.quote(str(surveys))}",
                path=surveys,
                mode=f"{stat.S_IMODE(status.st_mode):04o}",
            )


def _search_paths() -> Iterator[DoctorFinding]:
    """Yield folders in which others could put a program or module that the user then runs."""
    good = True
    for variable in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH"):
        for text in dict.fromkeys(os.environ.get(variable, "").split(os.pathsep) if os.environ.get(variable) else ()):
            if not text.startswith("/"):
                good = False
                yield _finding(
                    "security.search",
                    WARNING,
                    "security.search_relative",
                    message("security.search_remedy"),
                    variable=variable,
                    text=text or '""',
                )
                continue
            with suppress(OSError):
                writers = can_change(Path(text))
                if writers.everybody:
                    good = False
                    yield _finding(
                        "security.search",
                        BAD,
                        "security.search_open",
                        message("security.search_remedy"),
                        variable=variable,
                        path=text,
                        place=writers.place,
                    )
    if good:
        yield _finding("security.search", GOOD, "security.search_good")
