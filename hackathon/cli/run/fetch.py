"""`hackathon fetch`: copy a program's outputs out of its run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.messages import _, ngettext
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.outputs.walk import OutputFile


def _complete_pattern(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the recorded files of the run that begin with a text, under the program's own names."""
    from hackathon.runs.directory import find_run
    from hackathon.runs.outputs.record import read_record
    from hackathon.runs.outputs.walk import SOURCE
    from hackathon.text.errors import HackathonError

    try:
        recorded = read_record(find_run(context.params.get("name") or "", runs_folder()))
    except HackathonError:
        return []
    names = [output.path.removeprefix(f"{SOURCE}/") for output in recorded.files] if recorded else []
    return [name for name in names if name.startswith(incomplete)]


@named(
    "fetch",
    help=_(
        "Copy models, checkpoints and other files that the program wrote out of a run's folder. `hackathon "
        "status RUN` lists them. Without a pattern all are copied. A pattern is a name, a path or a folder; "
        "quote it so that the shell leaves it alone. Links are not followed out of the run.\n"
        "\n"
        "  hackathon fetch k3x9 model_final.pth\n"
        "  hackathon fetch k3x9 'checkpoints/*.pt' --to ~/models"
    ),
)
@click.argument("name", metavar="RUN", shell_complete=completing("run"))
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...", shell_complete=_complete_pattern)
@click.option("--to", "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help=_("Copy to this folder, not to the current one."))  # fmt: skip
@click.option("--force", is_flag=True, help=_("Overwrite existing files."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str, patterns: tuple[str, ...], folder: Path | None, force: bool, as_json: bool) -> None:
    from hackathon.cli.named_runs import run_to_read
    from hackathon.cli.run.outputs_shown import elsewhere
    from hackathon.cli.show import printable
    from hackathon.runs.outputs.fetch import all_outputs, choose, fetch, hidden, refuse_existing
    from hackathon.runs.status import status

    run = run_to_read(name, runs_folder())
    if status([run], ask=False)[0].open:
        click.echo(
            f"{_('warning')}: "
            + _("run {run} has not ended: a file that is being written may be incomplete", run=run.id),
            err=True,
        )
    outputs = all_outputs(run)
    target = (folder or Path.cwd()).absolute()
    selection = choose(outputs, patterns, target)
    refused: dict[str, str] = {}
    copies = list(selection.copies)
    if folder is None and not run.owned():  # a name with a dot may be a settings file: `.bashrc` in a home
        refused = {
            copy.output.path: _(
                "its name begins with a dot, and the run belongs to somebody else; `--to DIR` copies it"
            )
            for copy in copies
            if hidden(copy, target)
        }
        copies = [copy for copy in copies if copy.output.path not in refused]
    if not force:
        refuse_existing(copies)
    fetched: list[dict[str, Any]] = []
    written: list[OutputFile] = []
    for copy in copies:
        try:
            size = fetch(run, copy)
        except OSError as error:
            refused[copy.output.path] = str(error.strerror or error)
            continue
        fetched.append({"path": copy.output.path, "to": str(copy.target), "bytes": size})
        written.append(copy.output)
    for path, why in refused.items():
        click.echo(_("not copied: {path}: {why}", path=printable(path), why=printable(why)), err=True)
    for pattern in selection.unmatched:
        click.echo(
            _(
                "no file that the program of {run} wrote fits {pattern}; `hackathon status {run!q}` lists them",
                pattern=printable(pattern),
                run=run.id,
            ),
            err=True,
        )
    if not outputs.files:
        click.echo(_("the program of {run} wrote no files in its run", run=run.id), err=True)
    hint = elsewhere(run)
    if hint and (selection.unmatched or not outputs.files):
        click.echo(hint, err=True)
    if as_json:
        _show_json(run, target, fetched, refused, selection.unmatched)
    elif written:
        _show(written, sum(entry["bytes"] for entry in fetched), target)
    if selection.unmatched or refused or not outputs.files:
        raise click.exceptions.Exit(1)


def _show(written: "list[OutputFile]", size: int, target: Path) -> None:
    from hackathon.cli.run.outputs_shown import show_lines
    from hackathon.cli.show import printable

    show_lines(written)
    text = ngettext(
        "{count} file ({size}) copied to {folder}",
        "{count} files ({size}) copied to {folder}",
        len(written),
        count=len(written),
        size=format_size(size),
        folder=target,
    )
    click.echo(printable(text))


def _show_json(
    run: "RunDirectory",
    target: Path,
    fetched: list[dict[str, Any]],
    refused: dict[str, str],
    unmatched: tuple[str, ...],
) -> None:

    value = {
        "schema_version": 1,
        "run": run.id,
        "to": str(target),
        "fetched": fetched,
        "not_copied": [{"path": path, "why": why} for path, why in refused.items()],
        "unmatched": list(unmatched),
    }
    echo_json(value)
