"""`hackathon port`: change a training program for one GPU into one for many, where the change is certain."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.programs.port.libraries import Target
    from hackathon.programs.port.port import Ported

_TITLES = {"done": "port.title_done", "note": "port.title_note", "question": "port.title_question"}
_HOW_TO_RUN = {
    "torchrun": "port.how_to_run",
    "mpirun": "port.how_to_run_mpirun",
    "horovodrun": "port.how_to_run_horovod",
}


@named("port", help=message("help.port_help"))
@click.argument("file", required=False, metavar="[FILE]", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--write", "write_it", is_flag=True, help=message("help.option_port_write"))
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_port_output")
)
@click.option(
    "--to", "target", type=click.Choice(["horovod", "multiworker"]), help=message("help.option_port_to"),
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(file: Path | None, write_it: bool, output: Path | None, target: "Target | None", as_json: bool) -> None:
    from importlib.util import find_spec

    from hackathon.text.errors import RequestError

    if find_spec("libcst") is None:
        raise RequestError("port.needs_libcst")
    if output is not None and not write_it:
        raise RequestError("port.output_needs_write")
    path = file if file is not None else _only_program()
    if write_it and output is None and str(path) == "-":
        raise RequestError("port.write_needs_name")

    from hackathon.programs.port.port import port, write
    from hackathon.programs.port.source import read_program

    ported = port(read_program(path), target or "horovod")
    if target is not None and ported.framework not in ("keras", "tensorflow", "horovod"):
        raise RequestError("port.for_keras")
    changed = ported.after != ported.before
    written = write(ported, output) if write_it and changed else None
    if as_json:
        value = {"schema_version": 1, "files": [ported.as_json()], "written": str(written) if written else None}
        echo_json(value)
    else:
        _show(ported, path, written, write_it)
    raise click.exceptions.Exit(0 if ported.sure else 1)


def _only_program() -> Path:
    """Return the one Python program of the current folder. Raises RequestError if there is none, or several."""
    from hackathon.text.errors import RequestError
    from hackathon.text.printable import printable

    ours = ("hackathon_runtime.py", ".ported.py")
    programs = sorted(path for path in Path().glob("*.py") if not path.name.endswith(ours))
    if len(programs) == 1:
        return programs[0]
    names = printable(", ".join(program.name for program in programs[:5]))
    reason = message("port.several", names=names) if programs else message("port.none_here")
    raise RequestError("port.no_file", reason=reason)


def _show(ported: "Ported", path: Path, written: Path | None, write_it: bool) -> None:
    """Print the diff to standard output and its explanation to standard error, so that the diff can be applied."""
    from hackathon.programs.port.port import ported_name
    from hackathon.text.printable import printable

    if ported.status == "distributed":
        framework = next(finding.message for finding in ported.findings)
        click.echo(f"{ported.name}: {framework}", err=True)
        click.echo(message("port.not_written"), err=True)
        return
    for line in ported.diff().split("\n")[:-1]:
        color = "green" if line.startswith("+") else "red" if line.startswith("-") else None
        click.echo(click.style(printable(line, kept="\t"), fg=color))
    for kind in ("done", "note", "question"):
        rows = [finding for finding in ported.findings if finding.kind == kind]
        if rows:
            title = "port.title_unknown" if ported.status == "unknown" else _TITLES[kind]
            click.echo(message(title), err=True)
        for finding in rows:
            row = "port.row" if finding.line else "port.row_whole"
            click.echo(message(row, line=finding.line, text=finding.message), err=True)
    questions = sum(finding.kind == "question" for finding in ported.findings)
    if ported.status == "ported" and ported.sure and ported.after == ported.before:
        click.echo(message("port.needs_no_change", path=ported.name), err=True)
    elif ported.status == "ported":
        click.echo(message("port.asks", count=questions) if questions else message("port.ready"), err=True)
    target = written or ported_name(ported.name)
    if written is not None:
        click.echo(message("port.written", path=written), err=True)
        command = _in_project(path, written)
        text = message("port.set_command", command=command) if command else ""
        click.echo(text or message(_HOW_TO_RUN[ported.launcher], target=target), err=True)
    elif write_it:
        click.echo(message("port.not_written"), err=True)
    elif ported.after != ported.before and str(path) != "-":
        click.echo(message("port.how_to_write", target=target, path=ported.name), err=True)


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
