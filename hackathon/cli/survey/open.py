"""`hackathon survey open`: freeze the questionnaire, create the drop box, print tokens."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _


@named(
    "open",
    help=_(
        "Freeze the questionnaire (teams, kinds, and days are taken from hackathon.yaml now), create the drop "
        "box for `survey answer`, and print one-time tokens, one per person. Run it again with --tokens to get "
        "more. Tokens are printed once; only their digests are stored.\n"
        "\n"
        "  hackathon survey open after                          answers from people's own accounts\n"
        "  hackathon survey open after --tokens 30 > tokens.txt"
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--tokens", metavar="N", type=click.IntRange(min=0), default=0, help=_("Print N new one-time tokens."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str | None, tokens: int, as_json: bool) -> None:
    from hackathon.survey.collection import find_collection

    survey = find_collection(name, Path.cwd(), ("draft",))
    new_tokens = survey.open(tokens)
    if as_json:
        echo_json({"name": survey.name, "digest": survey.digest, "tokens": new_tokens})
        return
    for token in new_tokens:
        click.echo(token)
    click.echo(_("{name} is open", name=survey.name), err=True)
    if new_tokens:
        click.echo(
            _("{count} new tokens, one per person; they are shown only now and are not stored", count=len(new_tokens)),
            err=True,
        )
    if survey.box() is not None:
        click.echo(
            _("people can answer from their own accounts with `hackathon survey answer {name!q}`", name=survey.name),
            err=True,
        )
    click.echo(
        _(
            "`hackathon survey check {name!q}` shows the number of answers; `hackathon survey close {name!q}` "
            "closes the survey",
            name=survey.name,
        ),
        err=True,
    )
