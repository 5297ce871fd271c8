"""`hackathon doctor`: what this account and this machine can run, with evidence."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import job_options, named
from hackathon.jobs.request import Options
from hackathon.text.messages import _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hackathon.config.cluster import Cluster
    from hackathon.jobs.request import Request
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.doctor import DoctorFinding

MARKS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}


@named(
    "doctor",
    help=_(
        "Check Python, scheduler, modules, folder, disk space, quota, GPU driver, and clock, and show what to "
        "do about problems. --job also submits a short job that checks whether nodes can start processes on "
        "each other. --security shows instead what other users could read or "
        "change.\n"
        "\n"
        "  hackathon doctor\n"
        "  hackathon doctor --cluster slurm --job --nodes 2\n"
        "  hackathon doctor --security"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--job", "with_job", is_flag=True, help=_("Also submit a short job and wait for it."))
@click.option(
    "--security", is_flag=True, help=_("Check instead what other users could read or change in this account.")
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(target: str | None, options: Options, with_job: bool, security: bool, as_json: bool) -> None:
    if security:
        _security(target, as_json)
        return
    from hackathon.jobs.sources import gather
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
    findings = [*examine(cluster, runs), *_scripts(cluster, runs.parent)]
    if with_job:
        from hackathon.cli.budget import admit
        from hackathon.jobs.plan import Plan, PlannedJob

        def within(request: "Request") -> None:
            if sources is not None:
                admit(Plan(sources, (PlannedJob(request, sources),)))

        submitted: list[RunDirectory] = []
        try:
            findings.append(start_on_nodes(cluster, options, runs, within, sources, submitted.append))
        except KeyboardInterrupt:
            for run in submitted:
                click.echo(
                    _("job {job} goes on; end it with: hackathon cancel {run!q}", job=run.job_id(), run=run.id[-8:]),
                    err=True,
                )
            raise
    if as_json:
        from dataclasses import asdict

        echo_json({"cluster": cluster.name, "findings": [asdict(finding) for finding in findings]})  # fmt: skip
    else:
        click.echo(_("cluster {cluster}, runs in {folder}", cluster=cluster.name, folder=runs))
        _show(findings)
        if problem is not None and sources is None:
            click.echo(_("(not in a project: defaults of the cluster were checked)"), err=True)
    if any(finding.level == "bad" for finding in findings):
        raise click.exceptions.Exit(1)


def _scripts(cluster: "Cluster", folder: Path) -> "list[DoctorFinding]":
    """Check the hand-written job scripts in the project's folder."""
    from hackathon.programs.scripts.lint import scripts_in
    from hackathon.runs.doctor import WARNING, DoctorFinding
    from hackathon.schedulers.base import Scheduler

    return [
        DoctorFinding(
            _("job script"),
            WARNING,
            _("{path}: {errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}; line {line}: "
"{text}", path=report.path, line=report.findings[0].line,
                    text=report.findings[0].message, **report.counts),
            _("hackathon lint {path!q}", path=report.path),
        )
        for report in scripts_in(folder, Scheduler.script_endings, cluster)
    ]  # fmt: skip


def _show(findings: "Sequence[DoctorFinding]") -> None:
    from hackathon.cli.show import printable

    for finding in findings:
        mark, color = MARKS[finding.level]
        click.echo(f"{click.style(mark, fg=color)} {finding.about}: {printable(finding.text)}")
        if finding.remedy:
            click.echo(f"    → {printable(finding.remedy)}")


def _security(target: str | None, as_json: bool) -> None:
    """Print what others could read or change of this account; no scheduler is asked."""
    from hackathon.config.load import find_event, load_event
    from hackathon.readiness.security import examine
    from hackathon.text.errors import HackathonError

    runs = (Path(target) if target else Path.cwd()).absolute() / "runs"
    try:
        folder = find_event(runs.parent)
        event = (folder, load_event(folder)) if folder is not None else None
    except HackathonError:
        event = None
    findings = examine(runs, event)
    if as_json:
        from dataclasses import asdict

        value = {"schema_version": 1, "findings": [asdict(finding) for finding in findings]}
        echo_json(value)
    else:
        _show(findings)
    if any(finding.level == "bad" for finding in findings):
        raise click.exceptions.Exit(1)


def _cluster(options: Options) -> "Cluster":
    from hackathon.config import load
    from hackathon.config.trust import folders_that_count
    from hackathon.schedulers import registry
    from hackathon.schedulers.comparison import answering
    from hackathon.schedulers.registry import likely_cluster
    from hackathon.text.errors import RequestError

    named = options.cluster or os.environ.get("HACKATHON_CLUSTER") or load.load_user().cluster
    name = named or likely_cluster(answering())
    if name is None:
        raise RequestError(
            "jobs.no_cluster",
            "no cluster given, and it could not be detected",
            hint="--cluster NAME, or `cluster:` in project.yaml; `hackathon clusters` lists them",
        )
    return registry.load_cluster(name, folders_that_count(Path.cwd()))
