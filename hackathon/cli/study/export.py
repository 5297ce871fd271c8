"""`hackathon export`: a study for MLflow or Weights & Biases."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.messages import _, ngettext


@named(
    "export",
    help=_(
        "Write a study for an experiment tracker: its points, and each ended run with its metrics, parameters and "
        "doubts. Nothing is sent: MLflow gets a tracking folder, Weights & Biases offline runs. The tracker's package "
        "must be installed (`pip install mlflow-skinny`, `pip install wandb`). Without a name: the newest study.\n"
        "\n"
        "  hackathon export --to mlflow\n"
        "  hackathon export k3x9 --to wandb --dir ~/tracking"
    ),
)
@click.argument("name", required=False, metavar="[STUDY]", shell_complete=completing("study"))
@click.option("--to", "tracker", type=click.Choice(["mlflow", "wandb"]), required=True, help=_("The tracker."))
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help=_("Write into this folder, not into the study's own."),
)
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str | None, tracker: str, folder: Path | None, no_ask: bool, as_json: bool) -> None:
    from hackathon.api.project import project
    from hackathon.cli.working import working

    study = project(runs_folder().parent).study(name or "")
    with working(_("writing {study}", study=study.id)):
        export = study.export(tracker, folder, ask=not no_ask)
    if export.left_out:
        click.echo(
            ngettext(
                "{count} run has not ended and is left out: {runs}",
                "{count} runs have not ended and are left out: {runs}",
                len(export.left_out),
                count=len(export.left_out),
                runs=", ".join(export.left_out),
            ),
            err=True,
        )
    if as_json:
        echo_json(
            {
                "schema_version": 1,
                "study": export.study,
                "tracker": export.tracker,
                "folder": str(export.folder),
                "runs": dict(export.runs),
                "left_out": list(export.left_out),
                "command": export.command,
            }
        )
        return
    click.echo(
        ngettext(
            "{count} run of {study} written to {folder}",
            "{count} runs of {study} written to {folder}",
            len(export.runs),
            count=len(export.runs),
            study=export.study,
            folder=export.folder,
        )
    )
    click.echo(export.command)
