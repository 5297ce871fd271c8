"""`hackathon clean`: delete files after listing them with their sizes and asking."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.runs.clean import Candidate

_REASON_TEXTS = {
    "partial": N_("incomplete directory"),
    "failed": N_("unsuccessful run"),
    "never_submitted": N_("run never submitted"),
    "output": N_("written by the program"),
    "changed_source": N_("source file that the program changed (the run can then no longer be repeated)"),
    "source": N_("source (the run can then no longer be repeated)"),
    "cache": N_("cache"),
}

KEPT_RUNS = 5
"""Runs with remaining outputs that are listed."""


@named(
    "clean",
    help=_(
        "List deletable files with their sizes, and ask before deleting anything. Unfinished runs are never "
        "touched. Models, checkpoints and other files that a program wrote stay; `--outputs` deletes them.\n"
        "\n"
        "  hackathon clean\n"
        "  hackathon clean --failed --yes\n"
        "  hackathon clean --outputs k3x9\n"
        "  hackathon clean --sources"
    ),
)
@click.option("--failed", is_flag=True, help=_("Include failed and cancelled runs, with what their programs wrote."))
@click.option(
    "--sources",
    is_flag=True,
    help=_("Include source snapshots of finished runs; what their programs wrote there stays."),
)
@click.option(
    "--outputs",
    "names",
    metavar="RUN",
    multiple=True,
    help=_("Delete the files that the program of this run wrote (repeatable)."),
)
@click.option("-y", "--yes", is_flag=True, help=_("Do not ask for confirmation."))
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
        click.echo(_("the programs of these runs wrote no files in their runs"), err=True)
    else:
        click.echo(_("nothing to delete in {folder}", folder=project), err=True)
    if not names:
        _show_kept(going, project)
    if not going:
        return
    size = format_size(sum(candidate.size for candidate in going))
    if not yes:
        if not sys.stdin.isatty():
            click.echo(_("nothing was deleted; --yes deletes without asking"), err=True)
            return
        if not click.confirm(
            ngettext(
                "Delete {count} item ({size})?",
                "Delete {count} items ({size})?",
                len(going),
                count=len(going),
                size=size,
            ),
            err=True,
        ):
            return
    freed = remove(going, project)
    click.echo(_("deleted: {size}", size=format_size(freed)))


def _outputs(names: Sequence[str]) -> "list[Candidate]":
    """Return the outputs of the named runs, each run once."""
    from hackathon.runs.clean import output_candidates
    from hackathon.runs.directory import RunDirectory, find_run
    from hackathon.runs.status import status

    folder = runs_folder()
    runs = list(dict.fromkeys(find_run(name, folder) for name in names))
    for run in runs:
        if run.path.parent.resolve() != folder.resolve():
            raise RequestError(
                "outputs.other_project",
                "run {run} is not one of {folder}",
                hint="change to the folder of its project first",
                run=run.id,
                folder=folder,
            )
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
        rows.append([path, format_size(candidate.size), _(_REASON_TEXTS[candidate.reason])])
        if candidate.files is None:
            rows += [[f"  {line.text}", format_size(line.size), _("written by the program")]
                     for line in lines(candidate.outputs)]  # fmt: skip
    echo_table([_("item"), _("size"), ""], rows)


def _show_kept(going: "Sequence[Candidate]", project: Path) -> None:
    """Print the outputs that are not deleted."""
    from hackathon.runs.clean import kept_outputs

    outputs = kept_outputs(project, going)
    if not outputs:
        return
    size = format_size(sum(output.size for output in outputs))
    click.echo(
        ngettext(
            "not deleted: what the programs of {count} run wrote ({size}). `hackathon clean --outputs RUN` deletes it:",
            "not deleted: what the programs of {count} runs wrote ({size}). `hackathon clean --outputs RUN` "
            "deletes it:",
            len(outputs),
            count=len(outputs),
            size=size,
        ),
        err=True,
    )
    for output in outputs[:KEPT_RUNS]:
        text = ngettext(
            "{run}: {count} file, {size}",
            "{run}: {count} files, {size}",
            output.count,
            run=output.run.id,
            count=output.count,
            size=format_size(output.size),
        )
        click.echo(f"  {text}", err=True)
    if len(outputs) > KEPT_RUNS:
        click.echo(
            "  "
            + ngettext(
                "… and {count} more run",
                "… and {count} more runs",
                len(outputs) - KEPT_RUNS,
                count=len(outputs) - KEPT_RUNS,
            ),
            err=True,
        )
