"""`hackathon check`: whether the cluster would run a request, and its cost."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, job_options, named, option_requeue, option_trust, shown_only
from hackathon.jobs.request import Options
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.prediction.request import Reachable
    from hackathon.programs.training.of_sources import Reports
    from hackathon.runs.source.selection import Selection


@named(
    "check",
    help=_(
        "Check a job against the limits of the cluster before you submit it. Of a job that would be refused, every "
        "reason and the nearest accepted request are shown. It also reads your own program and shows what would break "
        "or falsify a run of several processes.\n"
        "\n"
        "  hackathon check --nodes 4 --walltime 2h\n"
        "  hackathon check torch-ddp --cluster miyabi-g --queue debug-g --nodes 8 --group gw25"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@option_requeue
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(target: str | None, options: Options, foreign: "Foreign", as_json: bool) -> None:
    from hackathon.cli.budget import event_line
    from hackathon.cli.program_findings import show_reports
    from hackathon.cli.show import cost_text, echo_advice, request_line
    from hackathon.cli.shown import show_warnings
    from hackathon.cli.working import working
    from hackathon.jobs.check import CheckError, unseen_paths
    from hackathon.jobs.plan import plan_jobs
    from hackathon.jobs.sources import find_sources
    from hackathon.prediction.request import reachable
    from hackathon.programs.training.of_sources import errors_of, read_sources
    from hackathon.runs.source.selection import Selection, selection_of
    from hackathon.schedulers.base import SchedulerError
    from hackathon.schedulers.known_nodes import known_nodes
    from hackathon.text.errors import RequestError
    from hackathon.usage.admission import budget_json, budget_text, judge, standing_of

    sources = find_sources(target, options, foreign=shown_only(foreign))
    event_line(sources)
    silent: list[SchedulerError] = []
    try:
        with working(_("asking the scheduler")):
            planned = plan_jobs(sources, nodes=known_nodes(sources.cluster, silent.append))
    except CheckError as error:
        reports = read_sources(sources)
        if not as_json:
            show_reports(reports)
            raise
        _report(False, [{"id": violation.id, "text": violation.text} for violation in error.violations], reports, error)
        raise click.exceptions.Exit(error.exit_code) from None
    (request,) = planned.requests
    source: Selection | None = None
    too_much: RequestError | None = None
    with working(_("reading the project")):
        expected = reachable(sources.runs.parent, request)
        try:
            source = selection_of(request, sources.runs)
        except RequestError as refusal:
            too_much = refusal
        reports = read_sources(sources, request, source)
        wrong = errors_of(reports)
    budget = standing_of(planned)
    refuse = sources.event is not None and sources.event.when_spent == "refuse"
    if as_json:
        refused = refuse and budget is not None and budget.over
        words = [{"id": "usage.budget", "text": budget_text(budget)}] if refused and budget is not None else []
        words += [{"id": identifier, "text": text} for identifier, text in wrong]
        words += [{"id": too_much.id, "text": str(too_much)}] if too_much is not None else []
        _report(not words, words, reports, None, budget_json(budget), source, expected)
        raise click.exceptions.Exit(2 if words else 0)
    show_reports(reports)
    if too_much is not None:
        raise too_much
    if not wrong:
        click.echo(_("OK: {what}", what=request_line(request)))
    click.echo(_source_text(source, request.in_place))
    show_warnings(source)
    click.echo(cost_text(planned.cost))
    if budget is not None and budget.team:
        click.echo(budget_text(budget))
    if expected is not None:
        click.echo(_expected_text(expected))
    echo_advice([request], planned.nodes)
    for line, path in unseen_paths(sources.project.environment if sources.project is not None else ()):
        click.echo(
            _(
                "note: {path} is not seen on this machine (`environment:` has the line `{line}`). Correct the line, "
                "or ignore this where only the nodes have it; write quotes around a path with spaces",
                path=path,
                line=line,
            ),
            err=True,
        )
    for text in judge(budget, refuse) if budget is not None else ():
        click.echo(f"{_('warning')}: {text}", err=True)
    for failure in silent:
        if failure.id == "schedulers.not_set_up":  # others are normal: the scheduler is elsewhere or busy
            click.echo(_("note: {problem}", problem=failure.message), err=True)
            click.echo(f"{_('hint')}: {failure.hint}", err=True)
    if sources.cluster.unverified:
        paths = ", ".join(sources.cluster.unverified)
        click.echo(
            _(
                "note: these values of cluster {cluster} are unverified: {paths}",
                cluster=sources.cluster.name,
                paths=paths,
            ),
            err=True,
        )
    if wrong:
        raise click.exceptions.Exit(2)


def _source_text(source: "Selection | None", in_place: bool) -> str:
    """Return which of the project's files a run receives."""
    from hackathon.text.units import format_size

    if source is None or in_place:
        return _("source: the folder itself (--in-place)")
    count, size = len(source.sizes) + len(source.links), format_size(sum(source.sizes.values()))
    linked = _("; linked: {names}", names=", ".join(source.outside)) if source.outside else ""
    return (
        ngettext(
            "source: {count} file, {size}, copied into the run",
            "source: {count} files, {size}, copied into the run",
            count,
            count=count,
            size=size,
        )
        + linked
    )


def _expected_text(expected: "Reachable") -> str:
    """Return the prediction for the request from the project's newest study, and the sizes that are worth it."""
    from hackathon.scaling.show import number, percent
    from hackathon.scaling.table import TARGET
    from hackathon.text.printable import printable

    entry, unit = expected.entry, f" {printable(expected.unit)}" if expected.unit else ""
    values = {key: number(entry[key]) + unit for key in ("value", "low", "high")}
    share = percent(entry["efficiency"])
    text = _(
        "study {study} predicts {value} at {processes} processes ({low} to {high}), efficiency {efficiency}",
        study=expected.study[-8:],
        processes=entry["processes"],
        efficiency=share,
        **values,
    )
    for identifier, size in (
        (
            N_("largest size above {target} efficiency: {processes} {processes:process|processes} ({efficiency})"),
            expected.advice.largest,
        ),
        (N_("cheapest per result: {processes} {processes:process|processes} ({efficiency})"), expected.advice.cheapest),
    ):
        if size is not None and size[0] != entry["processes"]:
            words = {"target": percent(TARGET), "processes": size[0], "efficiency": percent(size[1])}
            text += f"\n- {_(identifier, **words)}"
    return text


def _report(
    good: bool,
    violations: list[dict[str, str]],
    reports: "Reports",
    error: "object | None",
    budget: dict[str, object] | None = None,
    source: "Selection | None" = None,
    expected: "Reachable | None" = None,
) -> None:
    from hackathon.cli.program_findings import as_json

    nearest = getattr(error, "nearest", None)
    request = (
        {name: getattr(nearest, name) for name in ("queue", "nodes", "processes", "processes_per_node", "walltime")}
        if nearest
        else None
    )
    answer = {"schema_version": 1, "ok": good, "violations": violations, "nearest": request, "budget": budget}
    answer["source"] = source and {
        "files": len(source.sizes),
        "bytes": sum(source.sizes.values()),
        "linked": sorted(source.outside),
    }
    answer["prediction"] = expected.to_json() if expected is not None else None
    answer["files"] = as_json(reports)
    echo_json(answer)
