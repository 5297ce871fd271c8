"""`hackathon cancel`: end jobs."""

import click

from hackathon.cli.options import named
from hackathon.text.errors import HackathonError
from hackathon.text.messages import message


@named("cancel")
@click.argument("names", nargs=-1, required=True, metavar="RUN|STUDY...")
def command(names: tuple[str, ...]) -> None:
    from hackathon.cli.main import show_error
    from hackathon.cli.segments import with_followers
    from hackathon.cli.status import chosen
    from hackathon.runs.cancel import cancel
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
            told = cancel(run)
        except HackathonError as error:
            show_error(error)
            worst = max(worst, error.exit_code)
            continue
        click.echo(message("cli.cancelled" if told else "cli.cancel_ended", run=run.id))
    if worst:
        raise click.exceptions.Exit(worst)
