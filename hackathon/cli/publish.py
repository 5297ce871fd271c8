"""`hackathon publish`: static pages of studies."""

from pathlib import Path

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.errors import RequestError
from hackathon.text.messages import message


@named("publish")
@click.argument("names", nargs=-1, metavar="[STUDY]...")
@click.option("--to", "directory", required=True, metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help=message("help.option_to"))  # fmt: skip
@click.option("--title", default="", metavar="TEXT", help=message("help.option_title"))
@click.option("--no-ask", is_flag=True, help=message("help.option_no_ask"))
def command(names: tuple[str, ...], directory: Path, title: str, no_ask: bool) -> None:
    from hackathon.runs.status import status
    from hackathon.runs.study import find_studies, find_study, runs_of
    from hackathon.scaling.collect import study_results
    from hackathon.web.publish import publish
    from hackathon.web.views import study_view

    project = runs_folder().parent
    if names:
        studies = [study for name in dict.fromkeys(names) if (study := find_study(name, project)) is not None]
    else:
        studies = find_studies(project)
    if not studies:
        raise RequestError("cli.no_study", folder=project)
    views = []
    for study in studies:
        runs = runs_of(study)
        found = study_results(study, status(runs, ask=not no_ask))
        views.append(study_view(study.record(), found, [run.path for run in runs]))
    published = publish(views, directory, title=title or _title(project))
    for warning in published.warnings:
        click.echo(f"{message('cli.warning')}: {warning}", err=True)
    pages = [path for path in published if path.suffix == ".html"]
    click.echo(message("cli.published", count=len(pages), folder=directory, file=directory / "index.html"))


def _title(project: Path) -> str:
    from hackathon.config import load

    if (project / "project.yaml").is_file():
        return load.load_project(project).name
    return project.name
