"""`hackathon port`: change a training program for one GPU into one for many, where the change is certain."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.programs.port.libraries import Target
    from hackathon.programs.port.port import Ported
    from hackathon.programs.port.source import SingleGpuProgram

_TITLES = {
    "done": N_("Changes:"),
    "note": N_("Good to know:"),
    "question": N_("Questions (a comment stands at each place):"),
}
_HOW_TO_RUN = {
    "torchrun": N_("To try it with two processes: torchrun --standalone --nproc-per-node 2 {target!q}"),
    "mpirun": N_("To try it with two processes: mpirun -np 2 python {target!q}"),
    "horovodrun": N_("To try it with two processes: horovodrun -np 2 python {target!q}"),
}


@named(
    "port",
    help=_(
        "Show the changes that turn a training program for one GPU into a distributed one. PyTorch becomes "
        "DistributedDataParallel: process group, device of each process, DistributedSampler and set_epoch, "
        "saving and printing on rank 0, no_sync. Chainer becomes ChainerMN. Keras becomes Horovod, or "
        "MultiWorkerMirroredStrategy with `--strategy multiworker`. In programs of Lightning, the Hugging Face "
        "Trainer and Accelerate, which distribute by themselves, only the remaining places are changed, if "
        "there are any. Only certain changes are made; the rest becomes a comment with a question. The "
        "program is read, never run; `-` is standard input. Needs the package libcst.\n"
        "\n"
        "  hackathon port train.py\n"
        "  hackathon port train.py --write           creates train.ported.py\n"
        "  hackathon port train.py --write -o ddp.py\n"
        "  hackathon port keras.py --strategy multiworker\n"
        "  hackathon port train.py --json"
    ),
)
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--write",
    "write_it",
    is_flag=True,
    help=_("Create NAME.ported.py, or the file of -o. No file is ever overwritten."),
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help=_("The file that --write creates.")
)
@click.option(
    "--strategy",
    "target",
    type=click.Choice(["horovod", "multiworker"]),
    help=_("What a Keras program becomes: Horovod (default), or TensorFlow's MultiWorkerMirroredStrategy."),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(file: Path | None, write_it: bool, output: Path | None, target: "Target | None", as_json: bool) -> None:
    from importlib.util import find_spec

    from hackathon.text.errors import RequestError

    if find_spec("libcst") is None:
        raise RequestError(
            "port.needs_libcst",
            "hackathon port needs the package libcst, which is not installed",
            hint="pip install libcst (or, in a clone of the toolkit: pip install '.[port]'). Without a network: on "
            "a machine with one, pip download libcst -d wheelhouse; copy the folder; pip install --no-index "
            "--find-links wheelhouse libcst",
        )
    if output is not None and not write_it:
        raise RequestError("port.output_needs_write", "-o names the file that --write creates: give both")
    path = file if file is not None else _only_program()
    if write_it and output is None and str(path) == "-":
        raise RequestError("port.write_needs_name", "the program came from standard input: name the new file with -o")

    from hackathon.programs.port.port import port, write

    ported = port(_program(path), target or "horovod")
    if target is not None and ported.framework not in ("keras", "tensorflow", "horovod"):
        raise RequestError(
            "port.for_keras", "--to chooses what a Keras program becomes; this program does not use Keras"
        )
    written = write(ported, output) if write_it and ported.changes else None
    if as_json:
        value = {"schema_version": 1, "files": ported.as_json(), "written": str(written) if written else None}
        echo_json(value)
    else:
        _show(ported, path, written, write_it)
    raise click.exceptions.Exit(0 if ported.sure else 1)


def _program(path: Path) -> "SingleGpuProgram":
    """Return a program with the modules that it imports from its folder or from that of the project around it."""
    import os

    from hackathon.config.load import find_project
    from hackathon.programs.port.modules import package_folder, read_project
    from hackathon.programs.port.source import read_program

    if str(path) == "-" or not path.is_file():
        return read_program(path)
    beside = path.resolve().parent
    folder = package_folder(find_project(beside) or beside, path.resolve())
    shown = path.parent if folder == beside else Path(os.path.relpath(folder))
    return read_project(folder, str(path.resolve().relative_to(folder)), shown)


def _only_program() -> Path:
    """Return the one Python program of the current folder. Raises RequestError if there is none, or several."""
    from hackathon.text.errors import RequestError
    from hackathon.text.printable import printable

    ours = ("hackathon_runtime.py", ".ported.py")
    programs = sorted(path for path in Path().glob("*.py") if not path.name.endswith(ours))
    if len(programs) == 1:
        return programs[0]
    names = printable(", ".join(program.name for program in programs[:5]))
    reason = (
        _("several Python programs in this folder: {names}", names=names)
        if programs
        else _("no Python program in this folder")
    )
    raise RequestError(
        "port.no_file",
        "no program given, and none is known here: {reason}",
        hint="hackathon port train.py",
        reason=reason,
    )


def _show(ported: "Ported", path: Path, written: Path | None, write_it: bool) -> None:
    """Print the diff to standard output and its explanation to standard error, so that the diff can be applied."""
    from hackathon.programs.port.port import ported_name
    from hackathon.text.printable import printable

    if ported.status == "distributed":
        framework = next(finding.message for finding in ported.findings)
        click.echo(f"{ported.name}: {framework}", err=True)
        click.echo(_("no file was created: there is nothing to change"), err=True)
        return
    for line in ported.diff().split("\n")[:-1]:
        color = "green" if line.startswith("+") else "red" if line.startswith("-") else None
        click.echo(click.style(printable(line, kept="\t"), fg=color))
    for kind in ("done", "note", "question"):
        rows = [finding for finding in ported.findings if finding.kind == kind]
        if rows:
            title = N_("Not changed:") if ported.status == "unknown" else _TITLES[kind]
            click.echo(_(title), err=True)
        for finding in rows:
            row = N_("  line {line}: {text}") if finding.line else N_("  {text}")
            row = N_("  {file}, line {line}: {text}") if finding.line and finding.file else row
            click.echo(_(row, file=finding.file, line=finding.line, text=finding.message), err=True)
    questions = sum(finding.kind == "question" for finding in ported.findings)
    if ported.status == "ported" and ported.sure and not ported.changes:
        click.echo(_("{path}: nothing needs to be changed", path=ported.name), err=True)
    elif ported.status == "ported":
        click.echo(
            ngettext(
                "{count} question is left. Answer it before you trust a result.",
                "{count} questions are left. Answer them before you trust a result.",
                questions,
                count=questions,
            )
            if questions
            else _("Ready: nothing is left to ask."),
            err=True,
        )
    target = written or ported_name(ported.name)
    if written is not None:
        click.echo(_("created {path}", path=written), err=True)
        command = _in_project(path, written)
        text = (
            _("To run it: set `command: {command}` in project.yaml, then: hackathon try", command=command)
            if command
            else ""
        )
        click.echo(text or _(_HOW_TO_RUN[ported.launcher], target=target), err=True)
    elif write_it:
        click.echo(_("no file was created: there is nothing to change"), err=True)
    elif ported.changes and str(path) != "-":
        click.echo(_("To create {target}: hackathon port {path!q} --write", target=target, path=ported.name), err=True)


def _in_project(path: Path, written: Path) -> str:
    """Return the command of the project around a program with the new program in place of the old one.

    Empty without a project, or if its command does not start the program by its file.
    """
    import contextlib
    import json
    import re
    import shlex

    from hackathon.config.load import find_project, load_project
    from hackathon.programs.training.launchers import joined, launched, started
    from hackathon.text.errors import RequestError

    with contextlib.suppress(RequestError, OSError, ValueError):  # ValueError: a new file elsewhere, an unclosed quote
        folder = find_project(path.resolve().parent)
        command = load_project(folder).command if folder is not None else None
        if folder is None or command is None:
            return ""
        words = shlex.split(command)
        launch = launched(words)
        words = list(launch.rest) if launch else words  # the toolkit starts the ranks itself
        start = started(words)
        if start.kind not in ("python", "file") or (folder / start.file).resolve() != path.resolve():
            return ""
        new = str(written.resolve().relative_to(folder.resolve()))
        at = words.index(start.file)
        words[at : at + 1] = [new] if start.kind == "python" else ["python", new]  # it is not executable
        text = joined(words)
        return text if re.fullmatch(r"[\w./][\w@%+=,./{} -]*", text) else json.dumps(text, ensure_ascii=False)
    return ""
