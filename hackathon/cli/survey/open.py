"""`hackathon survey open`: freeze the questionnaire, create the drop box, print tokens."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import message


@named("open", help=message("help.survey_open_help"))
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--tokens", metavar="N", type=click.IntRange(min=0), default=0, help=message("help.option_survey_tokens"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(name: str | None, tokens: int, as_json: bool) -> None:
    from hackathon.survey.collection import find_collection

    survey = find_collection(name, Path.cwd(), ("draft",))
    new_tokens = survey.open(tokens)
    if as_json:
        echo_json({"name": survey.name, "digest": survey.digest, "tokens": new_tokens})
        return
    for token in new_tokens:
        click.echo(token)
    click.echo(message("survey.opened", name=survey.name), err=True)
    if new_tokens:
        click.echo(message("survey.opened_tokens", count=len(new_tokens)), err=True)
    if survey.box() is not None:
        click.echo(message("survey.opened_box", name=survey.name), err=True)
    click.echo(message("survey.opened_next", name=survey.name), err=True)
