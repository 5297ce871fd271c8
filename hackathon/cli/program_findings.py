"""How `check` and `init` print the findings in a team's own program."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.errors import RequestError
from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.programs.scripts.findings import LintReport
    from hackathon.runs.source.selection import Selection

COLORS = {"error": "red", "warning": "yellow"}
Reports = Sequence[tuple["LintReport", Sequence[str]]]


def read_sources(sources: "Sources", request: "Request | None" = None, copy: "Selection | None" = None) -> Reports:
    """Return the findings in the program of a project's command; empty for recipes.

    `request`: the request that would run, if the cluster can run it. `copy`: the files that its run would get.
    """
    project = sources.project
    if project is None or project.command is None:
        return ()
    from hackathon.jobs.installed import installed_packages
    from hackathon.programs.training.read import read_project
    from hackathon.programs.training.situation import TrainingSituation
    from hackathon.schedulers import registry

    cluster = sources.cluster
    explicit = request is not None and not request.origins.get("processes", "").startswith("cluster ")
    decided = request is not None and (explicit or request.processes > 1)
    situation = TrainingSituation(
        processes=request.processes if request is not None and decided else None,
        nodes=request.nodes if request is not None and decided else None,
        per_node=request.processes_per_node if request is not None and decided else None,
        cluster=cluster.name,
        visible=tuple(cluster.visible_from_nodes),
        offline=not cluster.internet_on_nodes and not registry.dialect_of(cluster).this_machine,
        launcher=request.launcher if request is not None else None,
        launcher_given=project.launcher is not None,
        gpus=request.gpus_per_node > 0 if request is not None else None,
        own_gpus=(project.gpus_per_process or 1) > 1,
        packages=installed_packages(request) if request is not None else None,
        copy=copy,
        in_place=request is not None and request.in_place,
    )
    return read_project(sources.folder, project.command, situation)


def read_new(folder: Path, command: str) -> Reports:
    """Return the findings in the program of a project that was just created."""
    from hackathon.programs.training.read import read_project
    from hackathon.programs.training.situation import TrainingSituation

    return read_project(folder, command, TrainingSituation())


def refuse_errors(sources: "Sources", request: "Request", *, force: bool = False) -> None:
    """Print the errors in the program to stderr, and the number of warnings that `check` reports.

    Raises RequestError for errors, unless `force` is set.
    """
    reports = read_sources(sources, request)
    errors = sum(report.counts["errors"] for report, _ in reports)
    warnings = sum(report.counts["warnings"] for report, _ in reports)
    if errors:
        show_reports(reports, err=True)
    elif warnings:
        click.echo(
            ngettext(
                "program: {warnings} warning; `hackathon check` shows it",
                "program: {warnings} warnings; `hackathon check` shows them",
                warnings,
                warnings=warnings,
            ),
            err=True,
        )
    if errors and not force:
        raise RequestError(
            "training.refused",
            "not submitted: the program has {errors} {errors:error|errors}",
            hint="Correct what is listed above, or submit all the same with --force.",
            errors=errors,
        )


def show_reports(reports: Reports, *, err: bool = False) -> None:
    """Print findings with the changed lines as a diff."""
    from hackathon.programs.scripts.findings import SEVERITY_TEXTS
    from hackathon.programs.training.diff import unified
    from hackathon.text.printable import printable

    errors = warnings = 0
    for report, lines in reports:
        counts = report.counts
        errors, warnings = errors + counts["errors"], warnings + counts["warnings"]
        for finding in report.findings:
            severity = click.style(_(SEVERITY_TEXTS[finding.severity]), fg=COLORS[finding.severity])
            click.echo(
                f"{printable(report.path)}:{finding.line}: {severity}: {finding.message} [{finding.rule}]", err=err
            )
            for line in unified(report.path, lines, finding.edits)[2:] if finding.edits else ():
                click.echo(f"    {printable(line)}", err=err)
    if reports:
        click.echo(
            _(
                "program: {errors} {errors:error|errors}, {warnings} {warnings:warning|warnings}",
                errors=errors,
                warnings=warnings,
            ),
            err=err,
        )


def as_json(reports: Reports) -> list[dict[str, object]]:
    """Return the findings in the form that checks and linters share."""
    return [report.as_json() for report, _ in reports]


def errors_of(reports: Reports) -> list[tuple[str, str]]:
    """Return (id, text) of each error."""
    return [
        (f"program.{finding.rule}", f"{report.path}:{finding.line}: {finding.message}")
        for report, _ in reports
        for finding in report.findings
        if finding.severity == "error"
    ]
