"""How `check` and `init` print the findings in a team's own program."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.programs.training.of_sources import Reports

COLORS = {"error": "red", "warning": "yellow"}


def read_new(folder: Path, command: str) -> "tuple[Reports, list[str]]":
    """Return the findings in the program of a new project, and the paths that it reads although git ignores them.

    A run links those paths, since its copy lacks them.
    """
    from contextlib import suppress

    from hackathon.programs.training.path_rules import LINKED
    from hackathon.programs.training.read import read_project
    from hackathon.programs.training.situation import TrainingSituation
    from hackathon.runs.source.selection import select
    from hackathon.text.errors import RequestError

    links: list[str] = []
    while True:
        copy = None
        with suppress(RequestError):  # a project that is too large, or has unreadable files: `check` tells
            copy = select(folder, exclude=links)
        in_git = copy if copy is not None and copy.in_git else None
        reports = read_project(folder, command, TrainingSituation(copy=in_git))
        lines = [finding.replacement or "" for report, _ in reports for finding in report.findings]
        names = [line.removeprefix(LINKED)[1:-1] for line in lines if line.startswith(LINKED)]
        new = [name for name in dict.fromkeys(names) if name not in links and not (folder / name).is_symlink()]
        if not new:
            break
        links += new  # a second one in the same line is reported once the first is linked
    return reports, links


def refuse_errors(sources: "Sources", request: "Request", *, force: bool = False) -> None:
    """Print the errors in the program to stderr, and the number of warnings that `check` reports.

    Raises RequestError for errors, unless `force` is set.
    """
    from hackathon.programs.training import of_sources

    reports = of_sources.read_sources(sources, request)
    warnings = of_sources.count(reports, "warnings")
    if of_sources.count(reports, "errors"):
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
    if not force:
        of_sources.refuse_errors(reports)


def show_reports(reports: "Reports", *, err: bool = False) -> None:
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


def as_json(reports: "Reports") -> list[dict[str, object]]:
    """Return the findings in the form that checks and linters share."""
    return [report.as_json() for report, _ in reports]
