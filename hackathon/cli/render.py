"""`hackathon render`: the job script, exactly as it would be submitted."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named, option_trust, shown_only
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign


@named("render")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--in-place", is_flag=True, default=None, help=message("help.option_in_place"))
@click.option("--explain", is_flag=True, help=message("help.option_explain"))
@click.option("--rank", is_flag=True, help=message("help.option_rank_script"))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(target: str | None, options: Options, explain: bool, rank: bool, foreign: "Foreign", as_json: bool) -> None:
    from hackathon.cli.budget import event_line
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources

    sources = find_sources(target, options, foreign=shown_only(foreign))
    event_line(sources)
    (job,) = plan_jobs(sources, place=False).jobs
    request, script = job.request, job.script
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
