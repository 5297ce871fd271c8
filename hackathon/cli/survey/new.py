"""`hackathon survey new`: create a questionnaire from a template."""

from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

FILE = click.Path(dir_okay=False, path_type=Path)


@named(
    "new",
    help=_(
        "Make surveys/NAME/survey.yaml beside hackathon.yaml from a shipped questionnaire (hackathon, before, "
        "tutors) or from a file. Nobody is asked anything before `survey open`.\n"
        "\n"
        "  hackathon survey new after                        the 2019 event's four ratings and free words\n"
        "  hackathon survey new before --template before     for before the event\n"
        "  hackathon survey new helpers --template tutors    for the tutors\n"
        "  hackathon survey new after --from last-year/survey.yaml"
    ),
)
@click.argument("name", metavar="NAME")
@click.option("--template", metavar="NAME", help=_("A shipped questionnaire: hackathon (default), before, tutors."))
@click.option("--from", "source", metavar="FILE", type=FILE, help=_("A questionnaire of your own to copy."))
def command(name: str, template: str | None, source: Path | None) -> None:
    from hackathon.cli.show import printable
    from hackathon.survey.create import new_survey
    from hackathon.survey.storage import SURVEY_FILE

    if template is not None and source is not None:
        raise RequestError("survey.template_or_file", "use either --template or --from, not both")
    collection = new_survey(name, Path.cwd(), template or "hackathon", source)
    click.echo(
        printable(
            _(
                "created {file}: edit it, then run `hackathon survey check {name!q}` and `hackathon survey "
                "open {name!q}`",
                file=collection.folder / SURVEY_FILE,
                name=collection.name,
            )
        ),
        err=True,
    )
