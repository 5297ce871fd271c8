"""`hackathon cancel`: end jobs."""

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError
from hackathon.text.messages import message


@named("cancel")
@click.argument("names", nargs=-1, required=True, metavar="RUN|STUDY...")
@click.option("-y", "--yes", is_flag=True, help=message("help.option_cancel_yes"))
def command(names: tuple[str, ...], yes: bool) -> None:
    import sys

    from hackathon.cli.main import show_error
    from hackathon.cli.run.segments import with_followers
    from hackathon.cli.run.status import chosen
    from hackathon.runs.cancel import NOT_SURE, cancel
    from hackathon.runs.states import OPEN
    from hackathon.runs.status import status

    runs = with_followers(chosen(names))
    several = len(runs) > 1
    worst = 0
    states = {state.run_id: state for state in status(runs)}
    for run in runs:
        # of a whole study only what is still open is cancelled
        if several and states[run.id].state not in OPEN:
            continue
        try:
            try:
                told = cancel(run, sure=yes)
            except HackathonError as error:
                question = f"{error.message}. {message('cli.cancel_ask')}"
                if error.id not in NOT_SURE or not sys.stdin.isatty() or not click.confirm(question, err=True):
                    raise
                told = cancel(run, sure=True)
        except HackathonError as error:
            show_error(error)
            worst = max(worst, error.exit_code)
            continue
        click.echo(message("cli.cancelled" if told else "cli.cancel_ended", run=run.id))
    if worst:
        raise click.exceptions.Exit(worst)
