"""`hackathon check`: would the cluster run this? What would it cost?"""

from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named, option_trust, shown_only
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.cli.program_findings import Reports
    from hackathon.jobs.places import Foreign


@named("check")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(target: str | None, options: Options, foreign: "Foreign", as_json: bool) -> None:
    from hackathon.cli.budget import budget_json, budget_text, event_line, judge, standing_of
    from hackathon.cli.program_findings import errors_of, read_sources, show_reports
    from hackathon.cli.show import cost_text, echo_advice, request_line
    from hackathon.jobs.check import CheckError
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources

    sources = find_sources(target, options, foreign=shown_only(foreign))
    event_line(sources)
    try:
        planned = plan_jobs(sources)
    except CheckError as error:
        reports = read_sources(sources)
        if not as_json:
            show_reports(reports)
            raise
        _report(False, [{"id": each.id, "text": each.text} for each in error.violations], reports, error)
        raise click.exceptions.Exit(error.exit_code) from None
    (request,) = planned.requests
    reports = read_sources(sources, request)
    wrong = errors_of(reports)
    budget = standing_of(planned)
    refuse = sources.event is not None and sources.event.when_spent == "refuse"
    if as_json:
        refused = refuse and budget is not None and budget.over
        words = [{"id": "usage.budget", "text": budget_text(budget)}] if refused and budget is not None else []
        words += [{"id": identifier, "text": text} for identifier, text in wrong]
        _report(not words, words, reports, None, budget_json(budget))
        raise click.exceptions.Exit(2 if words else 0)
    show_reports(reports)
    if not wrong:
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
    if wrong:
        raise click.exceptions.Exit(2)


def _report(
    good: bool,
    violations: list[dict[str, str]],
    reports: "Reports",
    error: "object | None",
    budget: dict[str, object] | None = None,
) -> None:
    import json

    from hackathon.cli.program_findings import as_json

    nearest = getattr(error, "nearest", None)
    shown = (
        {name: getattr(nearest, name) for name in ("queue", "nodes", "processes", "processes_per_node", "walltime")}
        if nearest
        else None
    )
    told = {"schema_version": 1, "ok": good, "violations": violations, "nearest": shown, "budget": budget}
    told["files"] = as_json(reports)
    click.echo(json.dumps(told, ensure_ascii=False, indent=1))
