"""`hackathon render`: the job script, exactly as it would be submitted."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, job_options, named, option_requeue, option_trust, shown_only
from hackathon.jobs.request import Options
from hackathon.text.messages import _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import PlannedJob


@named(
    "render",
    help=_(
        "Print the job script, byte for byte as `submit` hands it to the scheduler. To submit it by hand, "
        "write a folder with --to: the script needs the files beside it.\n"
        "\n"
        "  hackathon render\n"
        "  hackathon render torch-ddp --cluster reedbush-h --queue h-debug --nodes 2 --group pz0425\n"
        "  hackathon render --explain          where each value comes from\n"
        "  hackathon render --all              the script and the files beside it that it needs\n"
        "  hackathon render --to DIR           a folder to submit from by hand, as often as you like\n"
        "  hackathon render --essence          the few lines that start the program, and nothing else"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@option_requeue
@click.option(
    "--in-place", is_flag=True, default=None, help=_("Run in the project folder itself instead of a snapshot.")
)
@click.option("--explain", is_flag=True, help=_("Show each value with its origin."))
@click.option(
    "--all", "all_files", is_flag=True, help=_("Print all files that the job needs: job.sh, hackathon.sh, rank.sh.")
)
@click.option("--rank", is_flag=True, help=_("Print rank.sh, which runs on each rank."))
@click.option(
    "--files",
    is_flag=True,
    help=_("Print the files that the scheduler reads beside the script (Kubernetes: job.yaml)."),
)
@click.option(
    "--to",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help=_("Write a folder to submit from by hand: DIR, new or empty."),
)
@click.option("--essence", is_flag=True, help=_("Print a short script that needs no other files and records nothing."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
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
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources

    _require_one(
        {"--explain": explain, "--all": all_files, "--rank": rank, "--to": folder is not None, "--essence": essence}
    )
    sources = find_sources(target, options, foreign=shown_only(foreign))
    if sources.event is not None or sources.left_out:
        from hackathon.cli.budget import event_line

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
            [_("setting"), "", _("origin")],
            explained(request, sources.cluster.unverified),
        )
    elif files:
        texts = _files(job)
        if not texts:
            from hackathon.text.errors import RequestError

            raise RequestError(
                "cli.render_no_files",
                "The scheduler {scheduler} reads nothing but the job script.",
                scheduler=request.scheduler,
            )
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

        raise RequestError("cli.render_one_of", "{options} cannot be combined", options=", ".join(names))


def _write(job: "PlannedJob", folder: str, *, as_json: bool) -> None:
    """Write the folder from which a job can be submitted by hand, and print how."""
    from pathlib import Path

    from hackathon.jobs.render import render, render_header
    from hackathon.runs.create import hand_on
    from hackathon.schedulers.registry import dialect_of
    from hackathon.text.errors import RequestError

    request, sources = job.request, job.sources
    if names := dialect_of(sources.cluster).file_names:
        raise RequestError(
            "jobs.essence_files",
            "{scheduler} starts jobs from {names}, so a script alone is not enough; use `hackathon submit`",
            scheduler=request.scheduler,
            names=", ".join(names),
        )
    project = sources.runs.parent
    script = render(request, sources.cluster, sources.template_folders, handed_on=project)
    warnings = hand_on(request, script, Path(folder), runs_folder=sources.runs)
    __, options = render_header(request, sources.cluster, sources.template_folders)
    if as_json:
        answer = {"schema_version": 1, "folder": str(Path(folder).absolute()), "command_options": options}
        echo_json(answer, indent=None)
    else:
        click.echo(
            _(
                "created {folder}; to submit from it: cd {folder!q}, then give job.sh to your scheduler's "
                "command or to bash",
                folder=folder,
            )
        )
        if options:
            click.echo(_("the command of the submission also needs: {options}", options=" ".join(options)))
        click.echo(_("afterwards, in your project: hackathon adopt {folder!q}", folder=folder))
    for text in warnings:
        click.echo(f"{_('warning')}: {text}", err=True)


def _files(job: "PlannedJob") -> "Mapping[str, str]":
    from hackathon.jobs.render import render_files

    return render_files(job.request, job.sources.cluster, job.sources.runs)


def _point_to_files(job: "PlannedJob") -> None:
    """Print that the scheduler reads further files besides the script on standard output."""
    from hackathon.schedulers.registry import dialect_of

    if names := dialect_of(job.sources.cluster).file_names:
        click.echo(
            _(
                "The scheduler reads {names} beside this script: `hackathon render --files` with the same "
                "options prints it.",
                names=", ".join(names),
            ),
            err=True,
        )
