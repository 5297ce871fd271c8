"""Print the cost of jobs and check their team's budget, for every kind of submission."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, ngettext, pgettext

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.directory import RunDirectory
    from hackathon.usage.budget import BudgetLine, Standing


def admit(plan: "Plan") -> None:
    """Print the highest cost of a plan, and warn if the team's budget does not cover it.

    Raises RequestError if the event refuses that (`when_spent: refuse`).
    """
    from hackathon.cli.show import cost_text

    event_line(plan.sources)
    click.echo(cost_text(plan.cost), err=True)
    standing = standing_of(plan)
    if standing is not None and plan.sources.event is not None:
        judge(standing, plan.sources.event.when_spent == "refuse")


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


def standing_of(plan: "Plan") -> "Standing | None":
    """Return how a plan compares with the budget of the event around its project; None if there is no limit."""
    event, cluster = plan.sources.event, plan.sources.cluster
    if event is None or cluster.name not in event.clusters:
        return None
    from hackathon.usage.budget import budget_of, standing

    folder = plan.sources.event_folder
    if folder is None or budget_of(event, cluster.name) is None:
        return None
    return standing(event, folder, plan.requests, cluster, plan.sources.runs.parent)


def judge(standing: "Standing", refuse: bool) -> None:
    """Do nothing if the budget covers the requests; else warn, or raise RequestError with a request that fits."""
    if not standing.team:
        click.echo(
            f"{_('warning')}: "
            + _(
                "neither this project nor your account belongs to a team of hackathon.yaml: not counted against a "
                "budget"
            ),
            err=True,
        )
    if not standing.over:
        return
    text = budget_text(standing, [line for line in standing.lines if line.over])
    if not refuse:
        click.echo(f"{_('warning')}: {_(_warning(standing), text=text)}", err=True)
        return
    if standing.spent:
        raise RequestError(
            "usage.refused_spent",
            "Refused: nothing is left of the {text}",
            hint="Ask the organisers for more; `hackathon event usage` shows what was used.",
            text=text,
        )
    nearest = _nearest(standing)
    if nearest:
        raise RequestError(
            "usage.refused_would",
            "Refused: this may exceed the {text}",
            hint="Within the budget: {nearest}",
            text=text,
            nearest=nearest,
        )
    raise RequestError(
        "usage.refused_small",
        "Refused: not even one minute of this fits the {text}",
        hint="Use fewer nodes, or wait: queued and running jobs count with all that they can still use (`hackathon "
        "status` records finished ones). Otherwise, ask the organisers for more.",
        text=text,
    )


def budget_text(standing: "Standing", lines: "Sequence[BudgetLine] | None" = None) -> str:
    """Return the used amount, the budget and the requests' cost, in one line."""
    from hackathon.cli.show import printable
    from hackathon.usage.tables import BUDGET_KINDS

    parts = "; ".join(
        _(
            "{kind}: {used} of {budget} used{waiting}, this request needs at most {request}, {left} left",
            kind=_(BUDGET_KINDS[line.kind]),
            used=_number(line.used),
            budget=_number(line.budget),
            waiting=_(", up to {waiting} by queued or running jobs", waiting=_number(line.waiting))
            if line.waiting
            else "",
            request=_number(line.request),
            left=_number(line.left),
        )
        for line in (standing.lines if lines is None else lines)
    )
    text = _(
        "budget of team {team} on {cluster}: {parts}",
        team=printable(standing.team),
        cluster=printable(standing.cluster),
        parts=parts,
    )
    if not standing.unread:
        return text
    return text + _(
        " (counted: {read} of {all} folders)", read=standing.folders - standing.unread, all=standing.folders
    )


def budget_json(standing: "Standing | None") -> dict[str, object] | None:
    """Return the budget's state as JSON values."""
    if standing is None:
        return None
    amounts = [
        {name: getattr(line, name) for name in ("kind", "budget", "used", "waiting", "request", "left", "over")}
        for line in standing.lines
    ]
    values = {name: getattr(standing, name) for name in ("cluster", "folders", "unread", "spent", "over")}
    return {"team": standing.team or None, **values, "amounts": amounts}


def _warning(standing: "Standing") -> str:
    return N_("nothing is left of the {text}") if standing.spent else N_("this request may exceed the {text}")


def _nearest(standing: "Standing") -> str:
    from hackathon.text.units import format_walltime

    options = []
    if standing.walltime is not None:
        options.append(_("--walltime {walltime}", walltime=format_walltime(standing.walltime)))
    if standing.jobs:
        options.append(ngettext("{count} job of these", "{count} jobs of these", standing.jobs, count=standing.jobs))
    return pgettext("usage", " or ").join(options)


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
