"""`hackathon doctor`: what this account and machine are ready for, with evidence."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

MARKS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}


@named("doctor")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--job", "with_job", is_flag=True, help=message("help.option_doctor_job"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(target: str | None, options: Options, with_job: bool, as_json: bool) -> None:
    from hackathon.jobs.gather import gather
    from hackathon.runs.doctor import examine, start_on_nodes
    from hackathon.text.errors import RequestError

    problem = None
    try:
        sources = gather(target, options, os.environ, Path.cwd())
        cluster, runs = sources.cluster, sources.runs
    except RequestError as error:
        if target is not None or error.id != "jobs.no_project":
            raise
        problem, sources = error, None
        cluster, runs = _cluster(options), Path.cwd() / "runs"
    findings = examine(cluster, runs)
    if with_job:
        findings.append(start_on_nodes(cluster, options, runs))
    if as_json:
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"cluster": cluster.name, "findings": [asdict(each) for each in findings]},
                              ensure_ascii=False, indent=1))  # fmt: skip
    else:
        click.echo(message("cli.doctor_for", cluster=cluster.name, folder=runs))
        for each in findings:
            mark, color = MARKS[each.level]
            click.echo(f"{click.style(mark, fg=color)} {each.about}: {each.text}")
            if each.remedy:
                click.echo(f"    → {each.remedy}")
        if problem is not None and sources is None:
            click.echo(message("cli.doctor_no_project"), err=True)
    if any(each.level == "bad" for each in findings):
        raise click.exceptions.Exit(1)


def _cluster(options: Options) -> "Cluster":
    from hackathon.config import load
    from hackathon.jobs.machine import likely_cluster
    from hackathon.text.errors import RequestError

    name = options.cluster or os.environ.get("HACKATHON_CLUSTER") or load.load_user().cluster or likely_cluster()
    if name is None:
        raise RequestError("jobs.no_cluster")
    return load.load_cluster(name, [])
