"""`hackathon render`: the job script, exactly as it would be submitted."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import job_options, named, option_trust, shown_only
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import PlannedJob


@named("render", help=message("help.render_help"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--in-place", is_flag=True, default=None, help=message("help.option_in_place"))
@click.option("--explain", is_flag=True, help=message("help.option_explain"))
@click.option("--all", "all_files", is_flag=True, help=message("help.option_all_files"))
@click.option("--rank", is_flag=True, help=message("help.option_rank_script"))
@click.option("--files", is_flag=True, help=message("help.option_files"))
@click.option("--to", "folder", metavar="DIR", type=click.Path(), help=message("help.option_render_to"))
@click.option("--essence", is_flag=True, help=message("help.option_essence"))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    target: str | None,
    options: Options,
    explain: bool,
    all_files: bool,
    rank: bool,
    files: bool,
    folder: str | None,
    essence: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.cli.budget import event_line
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources

    _require_one(
        {"--explain": explain, "--all": all_files, "--rank": rank, "--to": folder is not None, "--essence": essence}
    )
    sources = find_sources(target, options, foreign=shown_only(foreign))
    event_line(sources)
    # where all templates are shipped, the files that are not shown cannot be wrong
    own = sources.template_folders or sources.cluster.templates
    plain = not (own or explain or all_files or rank or files or folder or essence or as_json)
    (job,) = plan_jobs(sources, place=False, script=not plain).jobs
    request = job.request
    if plain:
        from hackathon.jobs.render import render_job

        click.echo(render_job(request, sources.cluster), nl=False)
        _point_to_files(job)
        return
    script = job.script
    if folder is not None:
        _write(job, folder, as_json=as_json)
    elif essence:
        from hackathon.jobs.essence import essence as short

        text = short(request, sources.cluster, sources.runs.parent, sources.template_folders)
        click.echo(text, nl=False)
    elif all_files:
        all_texts = {**script.files, **_files(job)}
        if as_json:
            echo_json({"schema_version": 1, "files": all_texts}, indent=None)
        else:
            click.echo("\n".join(f"==> {name} <==\n{text}" for name, text in all_texts.items()), nl=False)
    elif as_json:
        answer = {"request": request.to_json(), "job": script.job, "library": script.library, "rank": script.rank}
        if files:
            answer["files"] = dict(_files(job))
        echo_json(answer, indent=None)
    elif explain:
        from hackathon.cli.show import echo_table, explained

        echo_table(
            [message("cli.column_value"), "", message("cli.column_origin")],
            explained(request, sources.cluster.unverified),
        )
    elif files:
        texts = _files(job)
        if not texts:
            from hackathon.text.errors import RequestError

            raise RequestError("cli.render_no_files", scheduler=request.scheduler)
        for text in texts.values():
            click.echo(text, nl=False)
    else:
        click.echo(script.rank if rank else script.job, nl=False)
        _point_to_files(job)


def _require_one(options: "Mapping[str, bool]") -> None:
    """Raise RequestError if several options are set that each decide what is printed."""
    names = [name for name, active in options.items() if active]
    if len(names) > 1:
        from hackathon.text.errors import RequestError

        raise RequestError("cli.render_one_of", options=", ".join(names))


def _write(job: "PlannedJob", folder: str, *, as_json: bool) -> None:
    """Write the folder from which a job can be submitted by hand, and print how."""
    from pathlib import Path

    from hackathon.jobs.render import render, render_header
    from hackathon.runs.create import hand_on
    from hackathon.schedulers.profiles import dialect_of
    from hackathon.text.errors import RequestError

    request, sources = job.request, job.sources
    if names := dialect_of(sources.cluster).file_names:
        raise RequestError("jobs.essence_files", scheduler=request.scheduler, names=", ".join(names))
    project = sources.runs.parent
    script = render(request, sources.cluster, sources.template_folders, handed_on=project)
    warnings = hand_on(request, script, Path(folder), runs_folder=sources.runs)
    _, options = render_header(request, sources.cluster, sources.template_folders)
    if as_json:
        answer = {"schema_version": 1, "folder": str(Path(folder).absolute()), "command_options": options}
        echo_json(answer, indent=None)
    else:
        click.echo(message("cli.rendered_to", folder=folder))
        if options:
            click.echo(message("cli.render_command_options", options=" ".join(options)))
        click.echo(message("cli.rendered_adopt", folder=folder))
    for text in warnings:
        click.echo(f"{message('cli.warning')}: {text}", err=True)


def _files(job: "PlannedJob") -> "Mapping[str, str]":
    from hackathon.jobs.render import render_files

    return render_files(job.request, job.sources.cluster, job.sources.runs)


def _point_to_files(job: "PlannedJob") -> None:
    """Print that the scheduler reads further files besides the script on standard output."""
    from hackathon.schedulers.profiles import dialect_of

    if names := dialect_of(job.sources.cluster).file_names:
        click.echo(message("cli.render_files", names=", ".join(names)), err=True)
