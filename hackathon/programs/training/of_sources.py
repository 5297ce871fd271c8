"""Findings in the program of a project, for the cluster and the job that would run it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.programs.scripts.findings import LintReport
    from hackathon.runs.source.selection import Selection

Reports = Sequence[tuple["LintReport", Sequence[str]]]
"""Each file's report with its lines."""


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


def refuse_errors(reports: Reports) -> None:
    """Raise RequestError if the program has errors."""
    errors = count(reports, "errors")
    if errors:
        raise RequestError(
            "training.refused",
            "not submitted: the program has {errors} {errors:error|errors}",
            hint="Correct what is listed above, or submit all the same with --force.",
            errors=errors,
        )


def count(reports: Reports, severity: str) -> int:
    """Return how many `errors` or `warnings` there are."""
    return sum(report.counts[severity] for report, _ in reports)


def errors_of(reports: Reports) -> list[tuple[str, str]]:
    """Return (id, text) of each error."""
    return [
        (f"program.{finding.rule}", f"{report.path}:{finding.line}: {finding.message}")
        for report, _ in reports
        for finding in report.findings
        if finding.severity == "error"
    ]
