"""`hackathon survey close`: refuse further answers, and remove everything that links answers to people."""

import sys
from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.messages import _


@named(
    "close",
    help=_(
        "Close a survey. All answers are written to shuffled files without times, tokens, and accounts. After "
        "that, no answers are accepted, and the survey cannot be reopened. If it is interrupted, run it again; "
        "nothing is lost. Answers that do not count or cannot be read are listed and kept.\n"
        "\n"
        "  hackathon survey close after\n"
        "  hackathon survey close after --yes"
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("-y", "--yes", is_flag=True, help=_("Do not ask for confirmation."))
def command(name: str | None, yes: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.survey.collection import find_collection

    survey = find_collection(name, Path.cwd())
    if survey.state == "open":
        gathered = survey.gathered()
        for account, why in [
            *((answer.account, answer.reason) for answer in gathered.left_out),
            *((f"{file.path.name} {file.account}".strip(), file.reason) for file in gathered.unread),
        ]:
            text = _("the answer of {account} does not count: {why}", account=account, why=why)
            click.echo(printable(f"{_('warning')}: {text}"), err=True)
        question = _(
            "Close {name} with {answered} answers? After that, no answers are accepted, and the survey cannot "
            "be reopened.",
            name=survey.name,
            answered=len(gathered.answers),
        )
        # a script that closes a survey means it; a person may have mistyped a name
        if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
            raise click.exceptions.Exit(0)
    survey.close()
    answered, __ = survey.participation()
    __, __, left_out, unread = survey.kept()
    text = _(
        "{name} is closed; answers: {answered}, not counted: {left_out}, unreadable files: {unread}",
        name=survey.name,
        answered=answered,
        left_out=left_out,
        unread=len(unread),
    )
    click.echo(text, err=True)
    if left_out or unread:
        click.echo(
            printable(
                _("answers that do not count and unreadable files are kept in {folder}", folder=survey.closed_folder)
            ),
            err=True,
        )
    click.echo(_("next: `hackathon survey summary {name!q}`", name=survey.name), err=True)
