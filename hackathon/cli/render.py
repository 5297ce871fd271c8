"""`hackathon render`: the job script, exactly as it would be submitted."""

import os
from pathlib import Path

import click

from hackathon.cli.options import job_options, named
from hackathon.jobs.options import Options
from hackathon.text.messages import message


@named("render")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--in-place", is_flag=True, default=None, help=message("help.option_in_place"))
@click.option("--explain", is_flag=True, help=message("help.option_explain"))
@click.option("--rank", is_flag=True, help=message("help.option_rank_script"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(target: str | None, options: Options, explain: bool, rank: bool, as_json: bool) -> None:
    from hackathon.jobs.check import check
    from hackathon.jobs.gather import gather
    from hackathon.jobs.render import render
    from hackathon.jobs.resolve import resolve

    sources = gather(target, options, os.environ, Path.cwd())
    request = resolve(sources)
    check(request, sources.cluster, sources.recipe)
    script = render(request, sources.cluster, sources.template_folders)
    if as_json:
        import json

        click.echo(
            json.dumps({"request": request.to_json(), "job": script.job, "rank": script.rank}, ensure_ascii=False)
        )
    elif explain:
        from hackathon.cli.show import echo_table, explained

        echo_table(
            [message("cli.column_value"), "", message("cli.column_origin")],
            explained(request, sources.cluster.unverified),
        )
    else:
        click.echo(script.rank if rank else script.job, nl=False)
