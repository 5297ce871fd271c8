"""`hackathon survey check`: the problems of a survey, and the number of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import WRONG_REQUEST
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.survey.checks import SurveyCheck

_STATE_TEXTS = {
    "draft": N_("not open yet"),
    "open": N_("open"),
    "closed": N_("closed"),
}

_CLI_TEXTS = {
    "error": N_("error"),
    "warning": N_("warning"),
}


@named(
    "check",
    help=_(
        "Look at a survey from the organiser's account: the questionnaire, permissions, the drop box, tokens, "
        "answers that do not count or cannot be read, and whether survey.yaml was changed after answers came.\n"
        "\n"
        "  hackathon survey check\n"
        "  hackathon survey check after --json"
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
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
            text = _(
                "form {form}, drop box {box}, files {files}; {spent} of {tokens} tokens used",
                form=channels["form"], box=channels["box"], files=channels["import"],
                tokens=report.tokens, spent=report.spent,
            )  # fmt: skip
            click.echo(text)
        for trouble in report.troubles:
            click.echo(printable(f"{_(_CLI_TEXTS[trouble.level])}: {trouble.text}"), err=True)
            if trouble.remedy:
                click.echo(printable(f"  {trouble.remedy}"), err=True)
        if not report.troubles:
            click.echo(_("no problems found"), err=True)
    if not report.good:
        raise click.exceptions.Exit(WRONG_REQUEST)


def look_line(report: "SurveyCheck") -> str:
    """Return the state of a survey in one line."""
    return _(
        "{name}: {state}, {questions} questions; answers: {answered}, invited: {invited}",
        name=report.name,
        state=_(_STATE_TEXTS[report.state]),
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
