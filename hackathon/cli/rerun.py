"""`hackathon rerun`: the recorded script and source once more."""

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import message


@named("rerun")
@click.argument("name", metavar="RUN")
@click.option("--note", default="", metavar="TEXT", help=message("help.option_note"))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=message("help.option_tag"))
@click.option("--dry-run", is_flag=True, help=message("help.option_rerun_dry"))
@click.option("--wait", "waiting", is_flag=True, help=message("help.option_wait"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(name: str, note: str, tags: tuple[str, ...], dry_run: bool, waiting: bool, as_json: bool) -> None:
    from hackathon.cli.show import printable
    from hackathon.cli.submit import finish
    from hackathon.runs.directory import find_run
    from hackathon.runs.provenance import differences
    from hackathon.runs.rerun import rerun
    from hackathon.runs.submit import submit_many
    from hackathon.schedulers import registry

    run = find_run(name, runs_folder())
    different = differences(run)
    click.echo(message("cli.rerun_differs" if different else "cli.rerun_same", run=run.id), err=True)
    for line in different:
        click.echo(f"  - {printable(line)}", err=True)
    if dry_run:
        return
    again = rerun(run, runs_folder=runs_folder(), note=note, tags=tags)
    finish(submit_many([again], registry.load(again.request().scheduler)), waiting, as_json)
