"""`hackathon survey check`: the problems of a survey, and the number of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import WRONG_REQUEST
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.survey.checks import SurveyCheck

_STATE_TEXTS = {
    "draft": "survey.state_draft",
    "open": "survey.state_open",
    "closed": "survey.state_closed",
}

_CLI_TEXTS = {
    "error": "cli.error",
    "warning": "cli.warning",
}


@named("check", help=message("help.survey_check_help"))
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(name: str | None, as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.survey.checks import look
    from hackathon.survey.collection import find_collection

    report = look(find_collection(name, Path.cwd()))
    if as_json:
        echo_json(_values(report))
    else:
        click.echo(printable(look_line(report)))
        if report.gathered is not None:
            channels = report.gathered.by_channel
            text = message(
                "survey.look_channels",
                form=channels["form"], box=channels["box"], files=channels["import"],
                tokens=report.tokens, spent=report.spent,
            )  # fmt: skip
            click.echo(text)
        for trouble in report.troubles:
            click.echo(printable(f"{message(_CLI_TEXTS[trouble.level])}: {trouble.text}"), err=True)
            if trouble.remedy:
                click.echo(printable(f"  {trouble.remedy}"), err=True)
        if not report.troubles:
            click.echo(message("survey.look_good"), err=True)
    if not report.good:
        raise click.exceptions.Exit(WRONG_REQUEST)


def look_line(report: "SurveyCheck") -> str:
    """Return the state of a survey in one line."""
    return message(
        "survey.look_line",
        name=report.name,
        state=message(_STATE_TEXTS[report.state]),
        questions=report.questions,
        answered=report.answered,
        invited="–" if report.invited is None else report.invited,
    )


def _values(report: "SurveyCheck") -> dict[str, Any]:
    return {
        "name": report.name,
        "state": report.state,
        "questions": report.questions,
        "answered": report.answered,
        "invited": report.invited,
        "tokens": report.tokens,
        "spent": report.spent,
        "by_channel": report.gathered.by_channel if report.gathered else None,
        "left_out": len(report.gathered.left_out) if report.gathered else report.left_out,
        "unread": report.unread,
        "ok": report.good,
        "troubles": [
            {
                "level": trouble.level,
                "problem": trouble.id.partition(".")[2],
                "text": trouble.text,
                "remedy": trouble.remedy,
            }
            for trouble in report.troubles
        ],
    }
