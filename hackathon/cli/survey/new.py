"""`hackathon survey new`: create a questionnaire from a template."""

from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

FILE = click.Path(dir_okay=False, path_type=Path)


@named("new", help=message("help.survey_new_help"))
@click.argument("name", metavar="NAME")
@click.option("--template", metavar="NAME", help=message("help.option_survey_template"))
@click.option("--from", "source", metavar="FILE", type=FILE, help=message("help.option_survey_from"))
def command(name: str, template: str | None, source: Path | None) -> None:
    from hackathon.cli.show import printable
    from hackathon.survey.create import new_survey
    from hackathon.survey.storage import SURVEY_FILE

    if template is not None and source is not None:
        raise RequestError("survey.template_or_file")
    collection = new_survey(name, Path.cwd(), template or "hackathon", source)
    click.echo(printable(message("survey.made", file=collection.folder / SURVEY_FILE, name=collection.name)), err=True)
