"""`hackathon clean`: what can go, with sizes; asks first."""

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import message
from hackathon.text.units import format_size


@named("clean")
@click.option("--failed", is_flag=True, help=message("help.option_failed"))
@click.option("--sources", is_flag=True, help=message("help.option_sources"))
@click.option("--yes", is_flag=True, help=message("help.option_yes"))
def command(failed: bool, sources: bool, yes: bool) -> None:
    import sys

    from hackathon.cli.show import echo_table
    from hackathon.runs.clean import candidates, remove

    project = runs_folder().parent
    found = candidates(project, failed=failed, sources=sources)
    if not found:
        click.echo(message("cli.clean_nothing", folder=project), err=True)
        return
    echo_table(
        [message("cli.what"), message("cli.size"), ""],
        [
            [str(each.path.relative_to(project)), format_size(each.size), message(f"runs.clean_{each.reason}")]
            for each in found
        ],
    )
    size = format_size(sum(each.size for each in found))
    if not yes:
        if not sys.stdin.isatty():
            click.echo(message("cli.clean_not_asked"), err=True)
            return
        if not click.confirm(message("cli.clean_ask", count=len(found), size=size), err=True):
            return
    freed = remove(found, project)
    click.echo(message("cli.clean_done", size=format_size(freed)))
