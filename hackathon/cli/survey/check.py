"""`hackathon survey check`: what is wrong with a survey, and how many answered."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import WRONG_REQUEST
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.survey.checks import SurveyCheck


@named("check", noun="survey")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(name: str | None, as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.survey.checks import look
    from hackathon.survey.collection import find_collection

    found = look(find_collection(name, Path.cwd()))
    if as_json:
        echo_json(_values(found))
    else:
        click.echo(printable(look_line(found)))
        if found.gathered is not None:
            channels = found.gathered.by_channel
            text = message(
                "survey.look_channels",
                form=channels["form"], box=channels["box"], files=channels["import"],
                tokens=found.tokens, spent=found.spent,
            )  # fmt: skip
            click.echo(text)
        for trouble in found.troubles:
            click.echo(printable(f"{message(f'cli.{trouble.level}')}: {trouble.text}"), err=True)
            if trouble.remedy:
                click.echo(printable(f"  {trouble.remedy}"), err=True)
        if not found.troubles:
            click.echo(message("survey.look_good"), err=True)
    if not found.good:
        raise click.exceptions.Exit(WRONG_REQUEST)


def look_line(found: "SurveyCheck") -> str:
    """Return how a survey stands, in one line."""
    return message(
        "survey.look_line",
        name=found.name,
        state=message(f"survey.state_{found.state}"),
        questions=found.questions,
        answered=found.answered,
        invited="–" if found.invited is None else found.invited,
    )


def _values(found: "SurveyCheck") -> dict[str, Any]:
    return {
        "name": found.name,
        "state": found.state,
        "questions": found.questions,
        "answered": found.answered,
        "invited": found.invited,
        "tokens": found.tokens,
        "spent": found.spent,
        "by_channel": found.gathered.by_channel if found.gathered else None,
        "left_out": len(found.gathered.left_out) if found.gathered else found.left_out,
        "unread": found.unread,
        "ok": found.good,
        "troubles": [
            {"level": each.level, "problem": each.id.partition(".")[2], "text": each.text, "remedy": each.remedy}
            for each in found.troubles
        ],
    }
