"""What jobs can cost, and whether their team's budget allows them: the one place before every submission."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.event import Event
    from hackathon.jobs.request import Request
    from hackathon.share.budget import Line, Standing


def admit(
    requests: "Sequence[Request]", cluster: "Cluster", project: Path, event: "Event | None", *, repeat: int = 1
) -> None:
    """Print what requests can cost at most, and warn when the team's budget does not last for them.

    Raises RequestError where the event wants that refused (`when_spent: refuse`).
    """
    from hackathon.cli.show import cost_text
    from hackathon.jobs.cost import cost

    click.echo(cost_text(cost([*requests] * repeat, cluster)), err=True)
    if event is None or not event.clusters:
        return
    found = held_against(requests, cluster, project, event, repeat=repeat)
    if found is not None:
        judge(found, event.when_spent == "refuse")


def admit_again(request: "Request", project: Path) -> None:
    """Hold a recorded request against the budget, as `admit`: its cluster's profile may be gone since."""
    from hackathon.config.load import find_event, load_cluster, load_event
    from hackathon.text.errors import HackathonError

    folder = find_event(project)
    event = load_event(folder) if folder is not None else None
    if folder is None or event is None or request.cluster not in event.clusters:
        return
    try:
        cluster = load_cluster(request.cluster, [project, folder])
    except HackathonError:
        return
    admit([request], cluster, project, event)


def held_against(
    requests: "Sequence[Request]", cluster: "Cluster", project: Path, event: "Event | None", *, repeat: int = 1
) -> "Standing | None":
    """Return how requests stand to the budget of the event around a project; None where nothing is limited."""
    if event is None or cluster.name not in event.clusters:
        return None
    from hackathon.config.load import find_event
    from hackathon.share.budget import budget_of, standing

    folder = find_event(project) if budget_of(event, cluster.name) is not None else None
    if folder is None:
        return None
    return standing(event, folder, requests, cluster, project, repeat=repeat)


def judge(found: "Standing", refuse: bool) -> None:
    """Say nothing of a budget that lasts, else warn, or raise RequestError with what would fit."""
    if not found.team:
        click.echo(f"{message('cli.warning')}: {message('usage.nobodys')}", err=True)
    if not found.over:
        return
    text = budget_text(found, [line for line in found.lines if line.over])
    if not refuse:
        click.echo(f"{message('cli.warning')}: {message(f'usage.{_word(found)}', text=text)}", err=True)
        return
    if found.spent:
        raise RequestError("usage.refused_spent", text=text)
    nearest = _nearest(found)
    if nearest:
        raise RequestError("usage.refused_would", text=text, nearest=nearest)
    raise RequestError("usage.refused_small", text=text)


def budget_text(found: "Standing", lines: "Sequence[Line] | None" = None) -> str:
    """Return used, budget and what the request can take, in one line."""
    from hackathon.cli.show import printable

    parts = "; ".join(
        message(
            "usage.budget_part",
            kind=message(f"usage.kind_{line.kind}"),
            used=_number(line.used),
            budget=_number(line.budget),
            waiting=message("usage.budget_waiting", waiting=_number(line.waiting)) if line.waiting else "",
            request=_number(line.request),
            left=_number(line.left),
        )
        for line in (found.lines if lines is None else lines)
    )
    text = message("usage.budget", team=printable(found.team), cluster=printable(found.cluster), parts=parts)
    if not found.unread:
        return text
    return text + message("usage.budget_counted", read=found.folders - found.unread, all=found.folders)


def budget_json(found: "Standing | None") -> dict[str, object] | None:
    """Return the same as JSON values."""
    if found is None:
        return None
    amounts = [
        {name: getattr(line, name) for name in ("kind", "budget", "used", "waiting", "request", "left", "over")}
        for line in found.lines
    ]
    values = {name: getattr(found, name) for name in ("cluster", "folders", "unread", "spent", "over")}
    return {"team": found.team or None, **values, "amounts": amounts}


def _word(found: "Standing") -> str:
    return "spent" if found.spent else "would_spend"


def _nearest(found: "Standing") -> str:
    from hackathon.text.units import format_walltime

    ways = []
    if found.walltime is not None:
        ways.append(message("usage.nearest_walltime", walltime=format_walltime(found.walltime)))
    if found.jobs:
        ways.append(message("usage.nearest_jobs", count=found.jobs))
    return message("usage.nearest_or").join(ways)


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
