"""`hackathon disk`: how much room the runs of a project take."""

from pathlib import Path

import click


@click.command()
@click.option("--least", default=0, metavar="KB", help="Leave out runs that take less.")
def command(least: int) -> None:
    """Show how much room each run of the current project takes."""
    runs = sorted(path.parent for path in Path("runs").glob("*/request.json"))
    if not runs:
        raise click.ClickException("There are no runs here. Go to the folder of a project.")
    for run in runs:
        size = sum(path.lstat().st_size for path in run.rglob("*"))
        if size >= 1000 * least:
            click.echo(f"{size / 1000:10.0f} KB  {run.name}")
