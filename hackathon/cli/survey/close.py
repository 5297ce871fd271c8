"""`hackathon survey close`: refuse further answers, and remove everything that links answers to people."""

import sys
from pathlib import Path

import click

from hackathon.cli.options import named
from hackathon.text.messages import message


@named("close", help=message("help.survey_close_help"))
@click.argument("name", metavar="[NAME]", required=False)
@click.option("-y", "--yes", is_flag=True, help=message("help.option_yes"))
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
            text = message("survey.will_be_left_out", account=account, why=why)
            click.echo(printable(f"{message('cli.warning')}: {text}"), err=True)
        question = message("survey.close_ask", name=survey.name, answered=len(gathered.answers))
        # a script that closes a survey means it; a person may have mistyped a name
        if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
            raise click.exceptions.Exit(0)
    survey.close()
    answered, _ = survey.participation()
    _, _, left_out, unread = survey.kept()
    text = message("survey.closed_now", name=survey.name, answered=answered, left_out=left_out, unread=len(unread))
    click.echo(text, err=True)
    if left_out or unread:
        click.echo(printable(message("survey.closed_kept", folder=survey.closed_folder)), err=True)
    click.echo(message("survey.closed_summary", name=survey.name), err=True)
