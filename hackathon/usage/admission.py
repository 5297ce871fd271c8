"""Check jobs against the budget of their team, for every command and program that submits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _, ngettext, pgettext

if TYPE_CHECKING:
    from hackathon.jobs.plan import Plan
    from hackathon.usage.budget import BudgetLine, Standing


def refuse(plan: "Plan") -> list[str]:
    """Return warnings about a plan and its team's budget.

    Raises RequestError if the budget does not cover the plan and the event refuses that (`when_spent: refuse`).
    """
    standing = standing_of(plan)
    if standing is None or plan.sources.event is None:
        return []
    return judge(standing, plan.sources.event.when_spent == "refuse")


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


def judge(standing: "Standing", refuse: bool) -> list[str]:
    """Return warnings, none if the budget covers the requests; or raise RequestError with a request that fits."""
    warnings = []
    if not standing.team:
        warnings.append(
            _("neither this project nor your account belongs to a team of hackathon.yaml: not counted against a budget")
        )
    if not standing.over:
        return warnings
    text = budget_text(standing, [line for line in standing.lines if line.over])
    if not refuse:
        return [*warnings, _(_warning(standing), text=text)]
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
    from hackathon.text.printable import printable
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
