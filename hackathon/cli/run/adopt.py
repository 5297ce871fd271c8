"""`hackathon adopt`: track a job that was submitted by hand."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.messages import _
from hackathon.text.units import format_size, format_walltime

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory


@named(
    "adopt",
    help=_(
        "Create a run for a job that was submitted without this tool, so that status, logs, and results can "
        "show it.\n"
        "\n"
        "  hackathon adopt 123456\n"
        "  hackathon adopt ~/old-run-folder"
    ),
)
@click.argument("target", metavar="JOBID|DIR")
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Cluster profile (`hackathon clusters` lists them)."),
)
@click.option(
    "--processes", metavar="N", type=click.IntRange(min=1), help=_("Total number of processes, normally one per GPU.")
)
@click.option("--note", default="", metavar="TEXT", help=_("Note shown in results and on pages."))
def command(target: str, cluster: str | None, processes: int | None, note: str) -> None:
    import os
    from dataclasses import asdict
    from pathlib import Path

    from hackathon.config import load
    from hackathon.config.trust import folders_that_count
    from hackathon.programs.scripts.lint import lint_directed
    from hackathon.runs.adopt import adopt, recorded
    from hackathon.schedulers import registry
    from hackathon.schedulers.registry import likely_cluster
    from hackathon.text.errors import RequestError

    folder = runs_folder()
    project = load.load_project(folder.parent) if (folder.parent / "project.yaml").is_file() else None
    record = recorded(Path(target)) if Path(target).is_dir() else None
    name = (
        cluster or os.environ.get("HACKATHON_CLUSTER") or (record and record.cluster) or (project and project.cluster)
    )
    name = name or load.load_user().cluster or likely_cluster()
    if name is None:
        raise RequestError(
            "jobs.no_cluster",
            "no cluster given, and it could not be detected",
            hint="--cluster NAME, or `cluster:` in project.yaml; `hackathon clusters` lists them",
        )
    profile = registry.load_cluster(name, [folder.parent, *folders_that_count(folder.parent)])
    metrics = {key: asdict(metric) for key, metric in project.metrics.items()} if project else None
    run = adopt(
        target,
        registry.scheduler_of(profile),
        cluster=profile.name,
        runs_folder=folder,
        processes=processes,
        note=note,
        metrics=metrics,
        metric=project.metric if project else None,
    )
    click.echo(_("adopted as {run}", run=run.id))
    _echo_details(run)
    if not run.record().processes:
        click.echo(
            f"{_('warning')}: "
            + _(
                "neither the scheduler nor the folder tells how many processes the job has, so no number is made per "
                "process; if you know it: hackathon adopt JOB --processes N"
            ),
            err=True,
        )
    report = lint_directed(run.path / "job.sh", profile)
    if report is not None and report.findings:
        text = _(
            "the job's script has {errors} {errors:error|errors} and {warnings} {warnings:warning|warnings}: "
            "hackathon lint {path!q}",
            path=run.path / "job.sh",
            **report.counts,
        )
        click.echo(f"{_('warning')}: {text}", err=True)


def _echo_details(run: "RunDirectory") -> None:
    """Print the known values of the job, and the names of the others."""
    from hackathon.cli.show import printable

    request, details = run.request(), run.client("adopted").get("details") or {}
    log = run.path / "logs" / "job.log"
    gpus = request.gpus_per_node or None if details.get("gpus_per_node") is None else details["gpus_per_node"]
    values = {
        _("processes"): request.processes or None,
        _("nodes"): request.nodes or None,
        _("GPUs of a node"): gpus,
        _("memory of a node"): format_size(request.memory) if request.memory else None,
        _("walltime"): format_walltime(request.walltime) if request.walltime else None,
        _("output"): log.readlink() if log.is_symlink() else None,
    }
    known = [f"{name} {printable(str(value))}" for name, value in values.items() if value is not None]
    unknown = [name for name, value in values.items() if value is None]
    if known:
        click.echo("  " + ", ".join(known))
    if unknown:
        click.echo("  " + _("not known: {names}", names=", ".join(unknown)))
