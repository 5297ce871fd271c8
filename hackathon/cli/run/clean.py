"""`hackathon clean`: delete files after listing them with their sizes and asking."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.errors import RequestError
from hackathon.text.messages import message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.runs.clean import Candidate

_REASON_TEXTS = {
    "partial": "outputs.reason_partial",
    "failed": "outputs.reason_failed",
    "never_submitted": "outputs.reason_never_submitted",
    "output": "outputs.reason_output",
    "changed_source": "outputs.reason_changed_source",
    "source": "outputs.reason_source",
    "cache": "outputs.reason_cache",
}

KEPT_RUNS = 5
"""Runs with remaining outputs that are listed."""


@named("clean", help=message("help.clean_help"))
@click.option("--failed", is_flag=True, help=message("help.option_failed"))
@click.option("--sources", is_flag=True, help=message("help.option_sources"))
@click.option("--outputs", "names", metavar="RUN", multiple=True, help=message("help.option_outputs"))
@click.option("--yes", is_flag=True, help=message("help.option_yes"))
def command(failed: bool, sources: bool, names: tuple[str, ...], yes: bool) -> None:
    import sys

    from hackathon.runs.clean import candidates, remove

    project = runs_folder().parent
    going = _outputs(names)
    if failed or sources or not names:
        additions = candidates(project, failed=failed, sources=sources)
        runs = [candidate.path for candidate in additions if candidate.reason == "failed"]
        going = [
            candidate for candidate in going if not any(candidate.path.is_relative_to(path) for path in runs)
        ] + additions
    if going:
        _show(going, project)
    elif names:
        click.echo(message("outputs.nothing_to_delete"), err=True)
    else:
        click.echo(message("cli.clean_nothing", folder=project), err=True)
    if not names:
        _show_kept(going, project)
    if not going:
        return
    size = format_size(sum(candidate.size for candidate in going))
    if not yes:
        if not sys.stdin.isatty():
            click.echo(message("cli.clean_not_asked"), err=True)
            return
        if not click.confirm(message("cli.clean_ask", count=len(going), size=size), err=True):
            return
    freed = remove(going, project)
    click.echo(message("cli.clean_done", size=format_size(freed)))


def _outputs(names: Sequence[str]) -> "list[Candidate]":
    """Return the outputs of the named runs, each run once."""
    from hackathon.runs.clean import output_candidates
    from hackathon.runs.directory import RunDirectory, find_run
    from hackathon.runs.status import status

    folder = runs_folder()
    runs = list(dict.fromkeys(find_run(name, folder) for name in names))
    for run in runs:
        if run.path.parent.resolve() != folder.resolve():
            raise RequestError("outputs.other_project", run=run.id, folder=folder)
    status(runs, ask=False)  # an ended run is sealed by this
    return [candidate for run in runs for candidate in output_candidates(RunDirectory(folder / run.id))]


def _show(going: "Sequence[Candidate]", project: Path) -> None:
    """Print the files to delete, with sizes; below a run, its outputs."""
    from hackathon.cli.show import echo_table
    from hackathon.runs.outputs.record import OutputLine, lines

    rows: list[list[str]] = []
    for candidate in going:
        path = str(candidate.path.relative_to(project))
        if candidate.files is not None and len(candidate.outputs) > 1:
            run = "/".join(path.split("/")[:2])
            folder = f"{path}/".removeprefix(f"{run}/")
            path = f"{run}/{OutputLine(folder, candidate.outputs).text}"
        rows.append([path, format_size(candidate.size), message(_REASON_TEXTS[candidate.reason])])
        if candidate.files is None:
            rows += [[f"  {line.text}", format_size(line.size), message("outputs.reason_output")]
                     for line in lines(candidate.outputs)]  # fmt: skip
    echo_table([message("cli.what"), message("cli.size"), ""], rows)


def _show_kept(going: "Sequence[Candidate]", project: Path) -> None:
    """Print the outputs that are not deleted."""
    from hackathon.runs.clean import kept_outputs

    outputs = kept_outputs(project, going)
    if not outputs:
        return
    size = format_size(sum(output.size for output in outputs))
    click.echo(message("outputs.kept", count=len(outputs), size=size), err=True)
    for output in outputs[:KEPT_RUNS]:
        text = message("outputs.kept_run", run=output.run.id, count=output.count, size=format_size(output.size))
        click.echo(f"  {text}", err=True)
    if len(outputs) > KEPT_RUNS:
        click.echo("  " + message("outputs.kept_more", count=len(outputs) - KEPT_RUNS), err=True)
