"""Read a project's own program: its command, the script that this starts, and the program itself. Nothing is run."""

import contextlib
import os
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from hackathon.config.problems import nearest
from hackathon.programs.scripts.findings import Edit, LintFinding
from hackathon.programs.scripts.lint import LintReport
from hackathon.programs.scripts.source import read_script
from hackathon.programs.training import data_rules, exchange_rules, launchers, rank_rules, shell_rules
from hackathon.programs.training.entries import python_file
from hackathon.programs.training.module import TooManyStepsError
from hackathon.programs.training.package_rules import check_packages
from hackathon.programs.training.program import TrainingProgram
from hackathon.programs.training.rules import FileLook
from hackathon.programs.training.situation import TrainingSituation
from hackathon.runs.source.program_text import ProgramText, imports, inside, program_files
from hackathon.schedulers.scripts import Severity
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

COMMAND_FILE = "project.yaml"
_PORTED = frozenset({"torch", "tensorflow", "keras", "chainer"})


def read_project(folder: Path, command: str, situation: TrainingSituation) -> list[tuple[LintReport, Sequence[str]]]:
    """Return a report and the lines of every file of a project's program that has findings, the command's first.

    `command` is that of project.yaml, with its placeholders. A text that is not a command has no findings: others say
    what is wrong with it.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    look = FileLook(COMMAND_FILE, "command", _lines(folder / COMMAND_FILE))
    looks = [look, *_from_command(folder, words, look, situation)]
    for each in looks:
        if situation.processes == 1:  # what is wrong for several processes may be right for one
            each.findings = [f if f.effect == "refused" else replace(f, severity="warning") for f in each.findings]
        each.findings.sort(key=lambda finding: (finding.line, finding.severity))
    return [(LintReport(each.path, each.dialect, tuple(each.findings)), each.lines) for each in looks if each.findings]


def _lines(path: Path) -> tuple[str, ...]:
    try:
        return read_script(path).lines
    except RequestError:
        return ()


def _from_command(folder: Path, words: list[str], look: FileLook, situation: TrainingSituation) -> list[FileLook]:
    line = next((n for n, text in enumerate(look.lines, 1) if re.match(r"command\s*:", text)), 1)
    found = launchers.launched(words)
    if found is not None:
        edits = _command_line(look, line, words, found.rest)
        if edits and not situation.launcher_given:
            edits = (Edit(line, (*edits[0].lines, f"launcher: {found.key}")),)
        look.add("launcher-in-command", line, *edits, launcher=found.launcher, key=found.key)
        words = list(found.program)
    start = launchers.started(words)
    name = start.file
    if situation.visible:
        for word in words:
            path = word.rpartition("=")[2]
            if data_rules.hidden(path, situation):
                look.add("path-not-visible", line, path=path, cluster=situation.cluster,
                         visible=", ".join(situation.visible))  # fmt: skip
    if "{" in name or "$" in name or name.startswith(("/", "~")) or ".." in name.split("/"):
        return []
    if start.kind == "module":
        name = python_file(folder, start)
        return _program(folder, (name,), situation) if name else []
    if not start.kind or not name:
        return []
    name = os.path.normpath(name)
    if not (folder / name).exists():
        other = _near(folder, name) if found is None else ""
        better = [other if word == start.file else word for word in words]
        edits = _command_line(look, line, words, better) if other else ()
        look.add("file-missing", line, *edits, file=start.file, folder=str(folder))
        return []
    if start.kind == "file":
        return _executed(folder, name, look, line, situation)
    return _shell(folder, name, situation) if start.kind == "shell" else _program(folder, (name,), situation)


def _executed(folder: Path, name: str, look: FileLook, line: int, situation: TrainingSituation) -> list[FileLook]:
    if not inside(folder, name):
        return []
    kind = "shell" if name.endswith(".sh") else "python" if name.endswith(".py") else ""
    if kind and not os.access(folder / name, os.X_OK):
        look.add("not-executable", line, file=name, program="bash" if kind == "shell" else "python")
    if kind == "shell":
        return _shell(folder, name, situation)
    return _program(folder, (name,), situation) if kind else []


def _near(folder: Path, name: str) -> str:
    """Return the file beside a missing one whose name is like it."""
    place = folder / os.path.dirname(name)  # noqa: PTH120 — a text, not a path
    ending = os.path.splitext(name)[1]  # noqa: PTH122
    try:
        known = sorted(each.name for each in place.iterdir() if each.suffix == ending and each.is_file())[:1000]
    except (OSError, ValueError):  # ValueError: a name with a zero byte
        return ""
    like = nearest(os.path.basename(name), known)  # noqa: PTH119
    return os.path.join(os.path.dirname(name), like) if like else ""  # noqa: PTH118, PTH120


def _command_line(look: FileLook, line: int, words: Sequence[str], better: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edit of `command:` in the project's file, where all of the command stands in that line."""
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


def _shell(folder: Path, name: str, situation: TrainingSituation) -> list[FileLook]:
    if not inside(folder, name):
        return []
    look = FileLook(name, "shell", _lines(folder / name))
    programs = [os.path.normpath(each) for each in shell_rules.check_shell(look, situation)]
    entries = tuple(
        dict.fromkeys(each for each in programs if not each.startswith(("/", "..")) and inside(folder, each))
    )
    if shell_rules.own_gpus(look.lines):
        situation = replace(situation, own_gpus=True)
    return [look, *_program(folder, entries, situation)]


def _program(folder: Path, entries: tuple[str, ...], situation: TrainingSituation) -> list[FileLook]:
    if not entries or not all(inside(folder, each) for each in entries):
        return []
    program = TrainingProgram.read(folder, entries)
    with contextlib.suppress(TooManyStepsError):  # nobody wrote that by hand: what was found so far is told
        rank_rules.check_ranks(program, situation)
        data_rules.check_data(program)
        data_rules.check_machine(program, situation)
        exchange_rules.check_exchange(program)
    if situation.packages is not None:
        check_packages(program, situation.packages)
    if len(entries) == 1 and situation.processes != 1:
        _alone(program, folder, entries[0], situation)
    return [*(module.look for module in program.modules), *program.broken]


def _alone(program: TrainingProgram, folder: Path, entry: str, situation: TrainingSituation) -> None:
    """The program and all that it imports can be read, and nothing of it can reach another process."""
    whole = ProgramText.read(folder, entry)
    module = next((each for each in program.modules if each.name == entry), None)
    if whole is None or whole.unknown or module is None:
        return
    severity: Severity = "error" if situation.processes is not None else "warning"
    port = message("training.port_shows", file=entry) if port_knows(folder, entry) else ""
    module.look.add("no-process-group", 1, severity=severity, files=", ".join(whole.files[:5]), port=port)


def port_knows(folder: Path, entry: str) -> bool:
    """Return whether `hackathon port` has changes to show for a program. Without libcst it says how to get that."""
    file = next(program_files(folder, entry))
    if not _PORTED.intersection(name.partition(".")[0] for _, name in imports(folder, file)):
        return False
    if find_spec("libcst") is None:
        return True
    from hackathon.programs.port.port import port
    from hackathon.programs.port.source import read_program

    try:
        return port(read_program(folder / entry)).status == "ported"
    except RequestError:
        return False


def told_by_text(
    folder: Path, entry: str, rules: Collection[str], situation: TrainingSituation | None = None
) -> list[tuple[str, LintFinding]]:
    """Return (file, finding) of what the text of a program shows, for these rules; nothing where it cannot be read.

    `folder` may belong to somebody else: files are parsed, and opened as `program_files` does.
    """
    program = TrainingProgram.read(folder, (entry,))
    with contextlib.suppress(TooManyStepsError):
        exchange_rules.check_exchange(program)
        data_rules.check_data(program)
        if situation is not None:
            rank_rules.check_ranks(program, situation)
    return [(module.name, each) for module in program.modules for each in module.look.findings if each.rule in rules]
