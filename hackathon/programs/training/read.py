"""Check a project's own program: its command, the script in it, and the program itself. Nothing is run.

This module checks the command. `files`, which checks the started files, is imported only when they are the project's.
"""

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hackathon.config.problems import nearest
from hackathon.programs.scripts.findings import Edit, LintReport
from hackathon.programs.scripts.source import script_lines
from hackathon.programs.training import launchers
from hackathon.programs.training.rules import FileLook
from hackathon.programs.training.situation import TrainingSituation

COMMAND_FILE = "project.yaml"
NOTEBOOK = ".ipynb"


def read_project(folder: Path, command: str, situation: TrainingSituation) -> list[tuple[LintReport, Sequence[str]]]:
    """Return a report and the lines of every file of a project's program with findings, the command's first.

    `command`: that of project.yaml, with its placeholders. An invalid command has no findings: other checks report it.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    look = FileLook(COMMAND_FILE, "command", script_lines(folder / COMMAND_FILE))
    looks = [look, *_from_command(folder, words, look, replace(situation, words=tuple(words)))]
    for look in looks:
        if situation.processes == 1:  # errors with several processes may be right with one
            look.findings = [f if f.effect == "refused" else replace(f, severity="warning") for f in look.findings]
        look.findings.sort(key=lambda finding: (finding.line, finding.severity))
    return [(LintReport(look.path, look.dialect, tuple(look.findings)), look.lines) for look in looks if look.findings]


def _from_command(folder: Path, words: list[str], look: FileLook, situation: TrainingSituation) -> list[FileLook]:
    line = next((n for n, text in enumerate(look.lines, 1) if re.match(r"command\s*:", text)), 1)
    launch = launchers.launched(words)
    if launch is not None:
        edits = _command_line(look, line, words, launch.rest)
        if edits and not situation.launcher_given:
            edits = (Edit(line, (*edits[0].lines, f"launcher: {launch.key}")),)
        look.add("launcher-in-command", line, *edits, launcher=launch.launcher, key=launch.key)
        words = list(launch.program)
    start = launchers.started(words)
    name = start.file
    if situation.visible:
        for word in words:
            path = word.rpartition("=")[2]
            if situation.hides(path):
                look.add("path-not-visible", line, path=path, cluster=situation.cluster,
                         visible=", ".join(situation.visible))  # fmt: skip
    if "{" in name or "$" in name or name.startswith(("/", "~")) or ".." in name.split("/"):
        return []
    if not start.kind or not name:
        return []
    if start.kind == "module":
        from hackathon.programs.training.entries import python_file

        name = python_file(folder, start)
        return _looks(folder, "python", name, situation) if name else []
    name = os.path.normpath(name)
    if name.endswith(NOTEBOOK):
        look.add("notebook", line, file=name)
        return []
    if not (folder / name).exists():
        other = _near(folder, name) if launch is None else ""
        better = [other if word == start.file else word for word in words]
        edits = _command_line(look, line, words, better) if other else ()
        look.add("file-missing", line, *edits, file=start.file, folder=str(folder))
        return []
    from hackathon.programs.training.path_rules import check_words

    check_words(folder, look, line, situation)
    if start.kind == "file":
        return _executed(folder, name, look, line, situation)
    return _looks(folder, start.kind, name, situation)


def _executed(folder: Path, name: str, look: FileLook, line: int, situation: TrainingSituation) -> list[FileLook]:
    from hackathon.runs.source.program_text import inside

    kind = "shell" if name.endswith(".sh") else "python" if name.endswith(".py") else ""
    if not kind or not inside(folder, name):
        return []
    if not os.access(folder / name, os.X_OK):
        look.add("not-executable", line, file=name, program="bash" if kind == "shell" else "python")
    return _looks(folder, kind, name, situation)


def _looks(folder: Path, kind: str, name: str, situation: TrainingSituation) -> list[FileLook]:
    """Return the findings in a file and in those that it starts or imports."""
    from hackathon.programs.training.files import look_at_program, look_at_shell

    return look_at_shell(folder, name, situation) if kind == "shell" else look_at_program(folder, (name,), situation)


def _near(folder: Path, name: str) -> str:
    """Return the file next to a missing one with a similar name."""
    parent = folder / os.path.dirname(name)  # noqa: PTH120 — a text, not a path
    ending = os.path.splitext(name)[1]  # noqa: PTH122
    try:
        names = sorted(path.name for path in parent.iterdir() if path.suffix == ending and path.is_file())[:1000]
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return ""
    like = nearest(os.path.basename(name), names)  # noqa: PTH119
    return os.path.join(os.path.dirname(name), like) if like else ""  # noqa: PTH118, PTH120


def _command_line(look: FileLook, line: int, words: Sequence[str], better: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edit of `command:` in the project's file, if the complete command is in that line."""
    if not better or line > len(look.lines):
        return ()
    match = re.fullmatch(r"(command\s*:\s*)([^#&*!|>{\[%@`\s][^#]*)", look.lines[line - 1])
    if match is None:
        return ()
    text = match[2].strip()
    quote = text[:1] if len(text) > 1 and text[:1] in "\"'" and text[-1:] == text[:1] else ""
    inner = text[len(quote) : len(text) - len(quote)]
    new = launchers.joined(better)
    try:
        same = shlex.split(inner) == list(words)
    except ValueError:
        return ()
    if not same or (quote and ("\\" in inner or quote in inner or quote in new)) or (not quote and ": " in new):
        return ()
    return (Edit(line, (f"{match[1]}{quote}{new}{quote}",)),)
