"""`hackathon cancel`: cancel jobs."""

import sys
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, named
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory


@named(
    "cancel",
    help=_(
        "Cancel the jobs of runs, or all unfinished jobs of a study. Without a name, your unfinished runs are "
        "listed; if there is only one, you are asked about it.\n"
        "\n"
        "  hackathon cancel k3x9"
    ),
)
@click.argument("names", nargs=-1, metavar="RUN|STUDY...", shell_complete=completing("result"))
@click.option(
    "-y", "--yes", is_flag=True, help=_("Cancel also a job whose name or owner the scheduler does not confirm.")
)
def command(names: tuple[str, ...], yes: bool) -> None:
    from hackathon.cli.main import show_error
    from hackathon.cli.run.segments import with_followers
    from hackathon.cli.run.status import chosen
    from hackathon.runs.cancel import NOT_SURE, cancel
    from hackathon.runs.directory import find_run
    from hackathon.runs.states import OPEN
    from hackathon.runs.status import status

    runs = with_followers(chosen(names, find=find_run) if names else [_only_one()])
    several = len(runs) > 1
    worst = 0
    states = {state.run_id: state for state in status(runs)}
    for run in runs:
        # only the unfinished runs of a study are cancelled
        if several and states[run.id].state not in OPEN:
            continue
        try:
            try:
                cancelled = cancel(run, sure=yes)
            except HackathonError as error:
                question = f"{error.message}. {_('Cancel this job?')}"
                if error.id not in NOT_SURE or not sys.stdin.isatty() or not click.confirm(question, err=True):
                    raise
                cancelled = cancel(run, sure=True)
        except HackathonError as error:
            show_error(error)
            worst = max(worst, error.exit_code)
            continue
        click.echo(_(N_("cancel requested: {run}") if cancelled else N_("already finished: {run}"), run=run.id))
    if worst:
        raise click.exceptions.Exit(worst)


def _only_one() -> "RunDirectory":
    """Return the only unfinished run here, if a person at a terminal confirms it.

    Raises RequestError with the names of the unfinished runs.
    """
    from hackathon.cli.options import runs_folder
    from hackathon.runs.directory import find_runs
    from hackathon.runs.states import OPEN
    from hackathon.runs.status import status

    runs = find_runs(runs_folder())
    unfinished = [(run, state) for run, state in zip(runs, status(runs), strict=True) if state.state in OPEN]
    if not unfinished:
        raise RequestError(
            "cli.cancel_nothing", "no unfinished runs in {folder}: nothing to cancel", folder=runs_folder()
        )
    lines = "\n".join(f"  hackathon cancel {run.id[-8:]}    {run.id}  {state.state}" for run, state in unfinished)
    # guessing which run is meant could cancel the wrong one
    if len(unfinished) > 1 or not sys.stdin.isatty():
        raise RequestError("cli.cancel_which", "no run named. Unfinished runs:\n{runs}", runs=lines)
    click.echo(lines, err=True)
    if not click.confirm(_("Cancel this job?"), err=True):
        raise click.Abort
    return unfinished[0][0]
