"""Print plans, submissions and runs, and set the exit codes that follow from them."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.text.messages import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hackathon.jobs.plan import Plan
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.submit import Outcomes

_SUGGEST_TEXTS = {
    "sum": N_("note on {name}: the unit counts one process; the values of all {processes} processes are added up"),
    "times": N_("note on {name}: the unit counts one process; the value of one was multiplied by {processes}"),
    "unsure": N_(
        "note on {name}: the unit does not say whether it counts one process or all {processes}; taken as all"
    ),
    "coarse": N_("note on {name}: computed from a printed time of one digit; it may be off by more than 10 %"),
    "recorded": N_("note on {name}: the program prints none; the recorder counted it"),
    "tracker": N_("note on {name}: the output has none; it is from the files of an experiment tracker"),
}


def show_plan(plan: "Plan") -> None:
    """Print each job of a plan, the cost of all, and advice.

    Raises RequestError if the team's budget does not allow it.
    """
    from hackathon.cli.budget import admit
    from hackathon.cli.show import echo_advice, request_line

    for job in plan.jobs:
        click.echo(request_line(job.request, job.settings), err=True)
    if plan.preflight is not None:
        click.echo(request_line(plan.preflight.request), err=True)
    admit(plan)
    echo_advice([job.request for job in plan.jobs], plan.nodes)


def confirm(planned: "Plan", yes: bool, question: str) -> None:
    """Print what will be submitted and its cost; ask if it uses more than this machine's time.

    Raises RequestError if there is no terminal to ask on, and click.Abort for a no.
    """
    import sys

    from hackathon.schedulers import registry
    from hackathon.text.errors import RequestError

    show_plan(planned)
    if yes or registry.dialect_of(planned.sources.cluster).this_machine:
        return
    if not sys.stdin.isatty():
        raise RequestError(
            "cli.nobody_confirms", "nobody is at a terminal to confirm the jobs", hint="Confirm with --yes."
        )
    if not click.confirm(question, err=True):
        raise click.Abort


def confirm_several(planned: "Plan", yes: bool) -> None:
    """Ask on a terminal before several runs, whose cost is on the screen, use node-hours.

    A script goes on, since it has nobody to ask; so does a user whose own settings say `confirm: false`. Raises
    click.Abort for a no.
    """
    import sys

    from hackathon.schedulers import registry

    sources = planned.sources
    if yes or not sources.user.confirm or not sys.stdin.isatty() or registry.dialect_of(sources.cluster).this_machine:
        return
    runs = len(planned.jobs) * planned.repeat
    question = ngettext("Submit {runs} run?", "Submit {runs} runs?", runs, runs=runs)
    if not click.confirm(question, default=True, err=True):
        raise click.Abort


def show_preflight(run: "RunDirectory") -> None:
    """Print that the preflight was submitted."""
    click.echo(f"{_('preflight')}: {run.id}  {_('job {job}', job=run.job_id())}", err=True)


def show_warnings(source: object) -> None:
    """Print the files that a snapshot left out."""
    for text in getattr(source, "warnings", ()):
        click.echo(f"{_('warning')}: {text}", err=True)


def show_outcomes(outcomes: "Outcomes", total: int = 0) -> None:
    """Print the submitted runs, on stderr; raise the first error, after which no further run was submitted."""
    for outcome in outcomes:
        if outcome.job_id is not None:
            click.echo(f"{outcome.run.id}  {_('job {job}', job=outcome.job_id)}", err=True)
    if outcomes.failure is not None:
        show_stop(outcomes, max(total, len(outcomes)))
        raise outcomes.failure


def finish(outcomes: "Outcomes", waiting: bool, as_json: bool, total: int = 1) -> None:
    """Print job ids in the order of submission, then raise the first error, then wait if requested."""
    submitted = [outcome for outcome in outcomes if outcome.job_id is not None]
    if as_json and not waiting:
        rows = [
            {"run": outcome.run.id, "job_id": outcome.job_id, "path": str(outcome.run.path)} for outcome in submitted
        ]
        echo_json({"runs": rows})
    elif not as_json:
        for outcome in submitted:
            click.echo(f"{outcome.run.id}  {outcome.job_id}")
    if outcomes.failure is not None:
        show_stop(outcomes, max(total, len(outcomes)))
        raise outcomes.failure
    if not waiting:
        if submitted and not as_json:
            click.echo(
                _("next: hackathon status {run!q}; hackathon logs {run!q} -f", run=submitted[0].run.id[-8:]), err=True
            )
        return
    from hackathon.cli.run.diagnose import show_cause
    from hackathon.cli.run.wait import wait
    from hackathon.runs.dependency import waited_for

    states = wait([outcome.run for outcome in submitted])
    if as_json:
        from dataclasses import asdict

        echo_json({"runs": [asdict(state) for state in states]})
    elif len(states) == 1 and states[0].state == "SUCCEEDED":
        show_run(submitted[0].run, states[0])
        show_cause(submitted[0].run, states[0])
    failed = [state for state in states if state.state != "SUCCEEDED"]
    for state in failed:
        run = next(outcome.run for outcome in submitted if outcome.run.id == state.run_id)
        show_tail(waited_for(run).path if state.cause == "preflight_failed" else run.path, state.first_rank)
        show_cause(run, state)
    if failed:
        raise click.exceptions.Exit(1)


def show_stop(outcomes: "Outcomes", total: int) -> None:
    """Print how many runs were submitted, and which may be in the queue without confirmation."""
    from hackathon.runs.submit import is_unclear

    done = sum(outcome.job_id is not None for outcome in outcomes)
    unclear = [outcome.run for outcome in outcomes if outcome.error is not None and is_unclear(outcome.run)]
    if done or total - done - len(unclear):
        click.echo(
            _(
                "{done} submitted, {left} not submitted; stopped at the first error",
                done=done,
                left=total - done - len(unclear),
            ),
            err=True,
        )
    for run in unclear:
        click.echo(
            _(
                "it is unclear whether {run} reached the queue: `hackathon status` searches for it by its "
                "name; if it stays UNCERTAIN, run `hackathon submit --again {run!q}`",
                run=run.id[-8:],
            ),
            err=True,
        )


def show_tail(run: Path, rank: int | None = None) -> None:
    """Print the last lines of a failed run's logs with their paths; the rank that failed first comes last."""
    from hackathon.cli.show import printable
    from hackathon.logs.follow import SHARED, tail

    logs = [run / "logs" / name for name in (*SHARED, f"rank-{rank or 0}.log")]
    for path in logs:
        lines = tail(path, 12) if path.is_file() else []
        if lines:
            click.echo(f"--- {path}", err=True)
            for line in lines:
                click.echo(f"  {printable(line)}", err=True)


def show_run(
    run: "RunDirectory",
    state: "RunStatus",
    form: str = "table",
    metric: str | None = None,
    more: "Mapping[str, Any] | None" = None,
) -> None:
    """Print one run's final numbers and its check (in JSON also `more`); exit code 1 if it failed."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.diagnosis.doubts import judge
    from hackathon.jobs.measured import RUN
    from hackathon.logs.final import metric_unit
    from hackathon.profiling.points import run_json
    from hackathon.profiling.sentences import sentences
    from hackathon.scaling.collect import run_result
    from hackathon.scaling.doubts import merged
    from hackathon.scaling.show import check_rule, doubt_mark, doubt_text, number

    result = run_result(run.path, status=state.state, reason=state.explanation, metric=metric, judge=judge)
    doubts = merged(doubt.to_json() for doubt in result.doubts)
    record = run.record()
    check = record.check
    value = result.metrics.get(check.metric) if check else None
    passed = check.passes(value) if check else None
    shares = run_json(result.shares)
    verdict = {**check.to_json(), "value": value, "passed": passed} if check else {}
    if form == "json":
        facts = {"run": run.id, "job_id": state.job_id, "status": state.state, "reason": state.explanation,
                 "processes": result.processes or None, "nodes": record.nodes or None, "note": result.note,
                 "metrics": {name: value if math.isfinite(value) else None for name, value in result.metrics.items()},
                 "sure": dict(result.sure), "metric_sources": dict(result.origins), "metrics_from": record.metrics_from,
                 "shares": shares,
                 "check": verdict, "doubts": doubts, **(more or {})}  # fmt: skip
        echo_json(facts)
    else:
        click.echo(f"{run.id}  {state.state}  {printable(state.beside_state)}".rstrip())
        marks = {True: "✓", False: "✗", None: ""}
        if not result.metrics:
            click.echo(_("no metrics were recorded"), err=True)
        else:
            echo_table(
            [_("metric"), _("value"), ""],
            [
                [name, f"{number(value)} {metric_unit(record.metrics, name)}".strip(),
                 f"{marks[passed]} {check_rule(check.to_json())}".strip() if check and name == check.metric else ""]
                for name, value in result.metrics.items()
            ],
        )  # fmt: skip
        for line in sentences(result.processes, shares):
            click.echo(line)
        if shares is not None and shares["advice"]:
            click.echo(
                _(
                    "what each piece of advice can gain, and the command to try it: `hackathon results "
                    "{name!q} --advice`",
                    name=run.id[-8:],
                ),
                err=True,
            )
        for doubt in doubts:
            click.echo(f"{doubt_mark([doubt])}: {doubt_text(doubt)}")
        if record.metrics_from != RUN:
            click.echo(
                _("read with the metrics of project.yaml as they are now, not with those of the time of submission")
            )
        doubted = {(doubt.id, doubt.values.get("metric")) for doubt in result.doubts}
        for name, how in result.sure.items():
            if (f"{how}-metric", name) in doubted:  # printed above
                continue
            click.echo(_(_SUGGEST_TEXTS[how], name=printable(name), processes=result.processes))
    if state.state == "SUCCEEDED" and result.value is None and metric is None:
        from hackathon.cli.study.suggest import pointer

        click.echo(pointer([run], run.id[-8:]), err=True)
    if state.state not in ("SUCCEEDED", "CREATED") and not state.open:
        raise click.exceptions.Exit(1)
