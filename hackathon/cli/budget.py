"""Print the cost of jobs and check their team's budget, for every kind of submission."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.directory import RunDirectory


def admit(plan: "Plan") -> None:
    """Print the highest cost of a plan, and warn if the team's budget does not cover it.

    Raises RequestError if the event refuses that (`when_spent: refuse`).
    """
    from hackathon.cli.show import cost_text

    event_line(plan.sources)
    click.echo(cost_text(plan.cost), err=True)
    if plan.sources.event is None:  # most projects belong to no event: nothing of budgets is loaded
        return
    from hackathon.usage.admission import refuse

    for text in refuse(plan):
        click.echo(f"{_('warning')}: {text}", err=True)


def event_line(sources: "Sources") -> None:
    """Print on stderr the event that applies to a job, and the ignored files of other accounts."""
    from hackathon.text.messages import localized
    from hackathon.text.printable import printable

    if sources.event is not None and sources.event_folder is not None:
        title, folder = printable(localized(sources.event.title)), printable(str(sources.event_folder))
        click.echo(_("event: {title} ({folder})", title=title, folder=folder), err=True)
    if sources.left_out:
        from hackathon.config.trust import why

        for origin in sources.left_out:
            click.echo(f"{_('warning')}: {_('{what}; it is not used (--trust uses it)', what=why(origin))}", err=True)


def admit_again(run: "RunDirectory", project: Path) -> None:
    """Check a recorded run against the budget, as `admit` does; its cluster's profile may no longer exist."""
    from hackathon.config.trust import trusted_event
    from hackathon.jobs.plan import Plan, PlannedJob
    from hackathon.jobs.resolve import Sources
    from hackathon.schedulers.registry import load_cluster
    from hackathon.text.errors import HackathonError

    request = run.request()
    event = trusted_event(project)
    if event is None or request.cluster not in event.record.clusters:
        return
    try:
        cluster = load_cluster(request.cluster, [project, event.folder])
    except HackathonError:
        return
    sources = Sources(cluster=cluster, event=event.record, event_folder=event.folder, runs=project / "runs")
    admit(Plan(sources, (PlannedJob(request, sources),)))
