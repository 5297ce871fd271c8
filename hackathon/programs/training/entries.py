"""Find the Python files that a command starts: directly, as modules, or through a shell script."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from hackathon.programs.training import launchers
from hackathon.runs.source.program_text import inside, text_lines

_FIXED = re.compile(r"[\w.:,/-]+")
_PLAIN = frozenset(
    {
        ":", "[", "[[", ".", "((", "cd", "date", "echo", "env", "exit", "export", "false", "hash", "hostname", "id",
        "local", "ls", "mkdir", "module", "nvidia-smi", "printf", "pwd", "read", "set", "shift", "shopt", "sleep",
        "source", "tee", "test", "trap", "true", "type", "ulimit", "umask", "unset", "wait", "which", "conda", "rm",
        "cp", "mv", "ln", "cat", "df", "free", "lscpu", "touch", "declare", "readonly", "nproc", "uname", "whoami",
        "basename", "dirname", "realpath",
    }
)  # fmt: skip
"""Commands of a script that train nothing."""


class OwnLauncher(NamedTuple):
    """A launcher that creates a separate world in each process that starts it."""

    name: str
    file: str
    """The script that contains it; empty for the command itself."""
    line: int


class CommandStart(NamedTuple):
    """The programs that a command starts."""

    files: tuple[str, ...] = ()
    """Python files below the program's folder."""
    whole: bool = False
    """Whether no other program may train: no unknown program, no unreadable file."""
    own_launcher: OwnLauncher | None = None


def start_of(folder: Path, words: tuple[str, ...]) -> CommandStart:
    """Return what a command starts, as far as its words and the script in it show that."""
    launch = launchers.launched(words)
    own = None
    if launch is not None:
        own = OwnLauncher(launch.launcher, "", 0) if launch.own_world else None
        words = launch.program
    start = launchers.started(words)
    if start.kind in ("python", "module"):
        name = python_file(folder, start)
        return CommandStart((name,) if name else (), bool(name), own)
    if start.kind == "shell" or (start.kind == "file" and start.file.endswith(".sh")):
        return _of_script(folder, beneath(start.file), own)
    if start.kind == "file" and start.file.endswith(".py") and inside(folder, beneath(start.file)):
        return CommandStart((beneath(start.file),), True, own)
    return CommandStart(own_launcher=own)


def python_file(folder: Path, start: launchers.Start) -> str:
    """Return the file of `python FILE` or `python -m MODULE` below a folder; empty when it does not exist."""
    if start.kind != "module":
        name = beneath(start.file)
        return name if name and inside(folder, name) else ""
    path = start.file.replace(".", "/")
    return next((candidate for candidate in (f"{path}/__main__.py", f"{path}.py") if inside(folder, candidate)), "")


def beneath(name: str) -> str:
    """Return a path without `.` and doubled slashes; empty for one that may lead out of the folder, or is unknown."""
    if not _FIXED.fullmatch(name) or name.startswith("/") or ".." in name.split("/"):
        return ""
    return os.path.normpath(name)


def _of_script(folder: Path, name: str, own: OwnLauncher | None) -> CommandStart:
    if not name or not inside(folder, name):
        return CommandStart(own_launcher=own)
    from hackathon.programs.training.shell_rules import script_commands

    lines = text_lines(folder, name)
    files: dict[str, None] = {}
    complete = True
    for command in script_commands(lines):
        launch = launchers.launched(command.words)
        if launch is not None and launch.own_world and command.sure and own is None:
            own = OwnLauncher(launch.launcher, name, command.line)
        start = launchers.started(launch.program if launch else command.words)
        file = python_file(folder, start) if start.kind in ("python", "module") else ""
        if file:
            files[file] = None
        elif command.words and (launch is not None or command.words[0] not in _PLAIN):
            complete = False
        if command.words[:1] == ("cd",):
            return CommandStart(own_launcher=own)
    return CommandStart(tuple(files), complete and bool(files), own)
