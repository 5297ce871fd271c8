"""Apply the rules to the files that a command starts: shell scripts and Python programs. Nothing is run."""

import contextlib
import os
from collections.abc import Collection
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.programs.scripts.findings import LintFinding
from hackathon.programs.scripts.source import script_lines
from hackathon.programs.training import data_rules, exchange_rules, rank_rules
from hackathon.programs.training.collective_rules import check_collectives
from hackathon.programs.training.joining_rules import joins_nowhere, needed_options
from hackathon.programs.training.module import Module, TooManyStepsError
from hackathon.programs.training.package_rules import check_packages
from hackathon.programs.training.path_rules import check_paths
from hackathon.programs.training.program import TrainingProgram
from hackathon.programs.training.rules import FileLook
from hackathon.programs.training.situation import TrainingSituation
from hackathon.programs.training.terminal_rules import check_terminal
from hackathon.runs.source.program_text import ProgramText, imports, inside, program_files
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.schedulers.scripts import Severity

_ADVICE = {
    "torch": N_(
        "Call `torch.distributed.init_process_group`, wrap the model in DistributedDataParallel, and divide the data "
        "with DistributedSampler."
    ),
    "tensorflow": N_(
        "Build and compile the model within `tf.distribute.MultiWorkerMirroredStrategy().scope()`, or use Horovod "
        "(`hvd.init`, `hvd.DistributedOptimizer`)."
    ),
    "chainer": N_(
        "Use ChainerMN: `create_communicator`, `create_multi_node_optimizer`, and `scatter_dataset` for the data."
    ),
}
"""Framework → how its processes work together."""
_PORTED = frozenset({"torch", "tensorflow", "keras", "chainer"})


def look_at_shell(folder: Path, name: str, situation: TrainingSituation) -> list[FileLook]:
    """Return the findings in a shell script and in the Python programs that it starts; none for outside files."""
    if not inside(folder, name):
        return []
    from hackathon.programs.training import shell_rules  # most commands start Python themselves

    look = FileLook(name, "shell", script_lines(folder / name))
    programs = [os.path.normpath(program) for program in shell_rules.check_shell(look, situation)]
    entries = tuple(
        dict.fromkeys(
            program for program in programs if not program.startswith(("/", "..")) and inside(folder, program)
        )
    )
    if shell_rules.own_gpus(look.lines):
        situation = replace(situation, own_gpus=True)
    return [look, *look_at_program(folder, entries, situation)]


def look_at_program(folder: Path, entries: tuple[str, ...], situation: TrainingSituation) -> list[FileLook]:
    """Return the findings in a Python program: in the started files and in their own imported modules."""
    if not entries or not all(inside(folder, entry) for entry in entries):
        return []
    program = TrainingProgram.read(folder, entries)
    with contextlib.suppress(TooManyStepsError):  # a generated file: report the findings so far
        rank_rules.check_ranks(program, situation)
        data_rules.check_data(program)
        data_rules.check_machine(program, situation)
        exchange_rules.check_exchange(program)
        check_collectives(program)
        check_terminal(program)
        check_paths(program, situation)
    if situation.packages is not None:
        check_packages(program, situation.packages, entries)
    if len(entries) == 1 and situation.processes != 1:
        _alone(program, folder, entries[0], situation)
    return [*(module.look for module in program.modules), *program.broken]


def _alone(program: TrainingProgram, folder: Path, entry: str, situation: TrainingSituation) -> None:
    """Report a program that, with all its imports, cannot reach another process."""
    text = ProgramText.read(folder, entry)
    module = next((module for module in program.modules if module.name == entry), None)
    if text is None or module is None:
        return
    if text.unknown:
        _joined(program, folder, entry, module, text.unknown, situation)
        return
    severity: Severity = "error" if situation.processes is not None else "warning"
    port = (
        _(" `hackathon port {file!q}` shows the changes for this program.", file=entry)
        if port_knows(folder, entry)
        else ""
    )
    advice = _(_ADVICE[_framework(program)])
    files = ", ".join(text.files[:5])
    module.look.add("no-process-group", 1, severity=severity, files=files, advice=advice, port=port)


def _framework(program: TrainingProgram) -> str:
    """Return the framework that a program trains with."""
    roots = {full.partition(".")[0] for module in program.modules for full in module.aliases.values()}
    if "torch" not in roots and roots & {"tensorflow", "keras", "tf_keras"}:
        return "tensorflow"
    return "chainer" if "torch" not in roots and "chainer" in roots else "torch"


def _joined(
    program: TrainingProgram, folder: Path, entry: str, module: Module, unknown: str, situation: TrainingSituation
) -> None:
    """Report that the own files join no group, or join one only with an option that the command lacks."""
    if joins_nowhere(program):
        port = (
            _(" `hackathon port {file!q}` shows the changes for this program.", file=entry)
            if port_knows(folder, entry)
            else ""
        )
        module.look.add("joins-nothing", 1, unknown=unknown, port=port)
        return
    needed = needed_options(program, [word.partition("=")[0] for word in situation.words])
    if needed is not None:
        owner, call, options = needed
        owner.look.add("joins-with-option", call.lineno, options=", ".join(options))


def port_knows(folder: Path, entry: str) -> bool:
    """Return whether `hackathon port` has changes for a program. Without libcst it explains how to install that."""
    file = next(program_files(folder, entry))
    if not _PORTED.intersection(name.partition(".")[0] for _, name in imports(folder, file)):
        return False
    if find_spec("libcst") is None:
        return True
    from hackathon.programs.port.modules import read_project
    from hackathon.programs.port.port import port

    try:
        return port(read_project(folder, entry)).status == "ported"
    except RequestError:
        return False


def told_by_text(
    folder: Path, entry: str, rules: Collection[str], situation: TrainingSituation | None = None
) -> list[tuple[str, LintFinding]]:
    """Return (file, finding) of these rules in a program's text; none when it is unreadable.

    `folder` may belong to another user: files are parsed, and opened like in `program_files`.
    """
    program = TrainingProgram.read(folder, (entry,))
    with contextlib.suppress(TooManyStepsError):
        exchange_rules.check_exchange(program)
        data_rules.check_data(program)
        if situation is not None:
            rank_rules.check_ranks(program, situation)
    return [
        (module.name, finding)
        for module in program.modules
        for finding in module.look.findings
        if finding.rule in rules
    ]
