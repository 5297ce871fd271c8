"""`hackathon check`: would the cluster run this? What would it cost?"""

from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named, option_trust, shown_only
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign


@named("check")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(target: str | None, options: Options, foreign: "Foreign", as_json: bool) -> None:
    from hackathon.cli.budget import budget_json, budget_text, event_line, judge, standing_of
    from hackathon.cli.show import cost_text, echo_advice, request_line
    from hackathon.jobs.check import CheckError
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources

    sources = find_sources(target, options, foreign=shown_only(foreign))
    event_line(sources)
    try:
        planned = plan_jobs(sources)
    except CheckError as error:
        if not as_json:
            raise
        _report(False, [{"id": each.id, "text": each.text} for each in error.violations], error)
        raise click.exceptions.Exit(error.exit_code) from None
    (request,) = planned.requests
    budget = standing_of(planned)
    refuse = sources.event is not None and sources.event.when_spent == "refuse"
    if as_json:
        refused = refuse and budget is not None and budget.over
        words = [{"id": "usage.budget", "text": budget_text(budget)}] if refused and budget is not None else []
        _report(not refused, words, None, budget_json(budget))
        raise click.exceptions.Exit(2 if refused else 0)
    click.echo(message("cli.check_good", what=request_line(request)))
    click.echo(cost_text(planned.cost))
    if budget is not None and budget.team:
        click.echo(budget_text(budget))
    echo_advice([request])
    if budget is not None:
        judge(budget, refuse)
    if sources.cluster.unverified:
        paths = ", ".join(sources.cluster.unverified)
        click.echo(message("cli.check_unverified", cluster=sources.cluster.name, paths=paths), err=True)


def _report(
    good: bool,
    violations: list[dict[str, str]],
    error: "object | None",
    budget: dict[str, object] | None = None,
) -> None:
    import json

    nearest = getattr(error, "nearest", None)
    shown = (
        {name: getattr(nearest, name) for name in ("queue", "nodes", "processes", "processes_per_node", "walltime")}
        if nearest
        else None
    )
    told = {"ok": good, "violations": violations, "nearest": shown, "budget": budget}
    click.echo(json.dumps(told, ensure_ascii=False, indent=1))
