"""`hackathon adopt`: track a job that was submitted by hand."""

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import message


@named("adopt", help=message("help.adopt_help"))
@click.argument("target", metavar="JOBID|DIR")
@click.option("--cluster", metavar="NAME", help=message("help.option_cluster"))
@click.option("--processes", metavar="N", type=click.IntRange(min=1), help=message("help.option_processes"))
@click.option("--note", default="", metavar="TEXT", help=message("help.option_note"))
def command(target: str, cluster: str | None, processes: int | None, note: str) -> None:
    import os
    from dataclasses import asdict
    from pathlib import Path

    from hackathon.config import load
    from hackathon.config.trust import folders_that_count
    from hackathon.jobs.machine import likely_cluster
    from hackathon.programs.scripts.lint import lint_directed
    from hackathon.runs.adopt import adopt, recorded
    from hackathon.schedulers import profiles
    from hackathon.text.errors import RequestError

    folder = runs_folder()
    project = load.load_project(folder.parent) if (folder.parent / "project.yaml").is_file() else None
    record = recorded(Path(target)) if Path(target).is_dir() else None
    name = (
        cluster or os.environ.get("HACKATHON_CLUSTER") or (record and record.cluster) or (project and project.cluster)
    )
    name = name or load.load_user().cluster or likely_cluster()
    if name is None:
        raise RequestError("jobs.no_cluster")
    profile = profiles.load_cluster(name, [folder.parent, *folders_that_count(folder.parent)])
    metrics = {key: asdict(metric) for key, metric in project.metrics.items()} if project else None
    run = adopt(
        target,
        profiles.scheduler_of(profile),
        cluster=profile.name,
        runs_folder=folder,
        processes=processes,
        note=note,
        metrics=metrics,
        metric=project.metric if project else None,
    )
    click.echo(message("cli.adopted", run=run.id))
    if not run.record().processes:
        click.echo(f"{message('cli.warning')}: {message('cli.adopted_processes')}", err=True)
    report = lint_directed(run.path / "job.sh", profile)
    if report is not None and report.findings:
        text = message("lint.adopted", path=run.path / "job.sh", **report.counts)
        click.echo(f"{message('cli.warning')}: {text}", err=True)
