"""`hackathon submit`: one job, or the same job several times."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import job_options, named
from hackathon.jobs.options import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.runs.submit import Outcomes


@named("submit")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--repeat", metavar="N", type=click.IntRange(1, 1000), default=1, help=message("help.option_repeat"))
@click.option("--note", default="", metavar="TEXT", help=message("help.option_note"))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=message("help.option_tag"))
@click.option("--after", metavar="[ok:|any:]RUN", help=message("help.option_after"))
@click.option(
    "--segments", metavar="N", type=click.IntRange(1, 100), default=1, help=message("segments.option_segments")
)
@click.option("--preflight", is_flag=True, help=message("preflight.option"))
@click.option("--in-place", is_flag=True, default=None, help=message("help.option_in_place"))
@click.option("--again", metavar="RUN", help=message("help.option_again"))
@click.option("--dry-run", is_flag=True, help=message("help.option_dry_run"))
@click.option("--wait", "waiting", is_flag=True, help=message("help.option_wait"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    target: str | None,
    options: Options,
    repeat: int,
    note: str,
    tags: tuple[str, ...],
    after: str | None,
    segments: int,
    preflight: bool,
    again: str | None,
    dry_run: bool,
    waiting: bool,
    as_json: bool,
) -> None:
    from hackathon.cli.budget import admit
    from hackathon.cli.preflight import preflight_request, submit_before
    from hackathon.cli.segments import refuse_repeat, show_submitted
    from hackathon.cli.show import echo_advice, request_line
    from hackathon.jobs.check import check
    from hackathon.jobs.gather import gather
    from hackathon.jobs.render import render
    from hackathon.jobs.resolve import resolve
    from hackathon.runs import snapshot
    from hackathon.runs.chain import create_chain, submit_chain
    from hackathon.runs.create import create
    from hackathon.runs.directory import new_run_id
    from hackathon.runs.submit import Outcome, Outcomes, submit, submit_many
    from hackathon.schedulers import registry

    if again is not None:
        _again(again, as_json)
        return
    refuse_repeat(segments, repeat)
    if preflight and segments > 1:
        raise RequestError("preflight.with_segments")
    sources = gather(target, options, os.environ, Path.cwd())
    request = resolve(sources)
    check(request, sources.cluster, sources.recipe, sources.runs)
    script = render(request, sources.cluster, sources.template_folders)
    click.echo(request_line(request), err=True)
    first = [preflight_request(request, sources)] if preflight else []
    admit([*first, *[request] * (repeat * segments)], sources.cluster, sources.runs.parent, sources.event)
    echo_advice([request])
    source = snapshot.take(sources.folder, runs_folder=sources.runs, in_place=request.in_place)
    show_warnings(source)
    if dry_run:
        click.echo(script.job, nl=False)
        return
    scheduler = registry.load(request.scheduler)
    dependency = _after(after, sources.runs)
    if segments > 1:
        chain = create_chain(request, script, segments, runs_folder=sources.runs, note=note, tags=tags, source=source)
        show_submitted(chain, submit_chain(chain, scheduler, dependency), waiting, as_json)
        return
    ids = [new_run_id(request.name, request.processes) for _ in range(repeat)]
    facts = submit_before(first[0], sources, ids[0], note, dependency) if first else {}
    runs = (
        create(request, script, runs_folder=sources.runs, run_id=each, note=note, tags=tags, source=source, facts=facts)
        for each in ids
    )
    if dependency is not None and not first:
        outcomes = Outcomes(Outcome(run, submit(run, scheduler, after=dependency)) for run in runs)
    else:
        outcomes = submit_many(runs, scheduler)
    finish(outcomes, waiting, as_json, repeat)


def show_warnings(source: object) -> None:
    """Print what a snapshot left out."""
    for text in getattr(source, "warnings", ()):
        click.echo(f"{message('cli.warning')}: {text}", err=True)


def finish(outcomes: "Outcomes", waiting: bool, as_json: bool, wanted: int = 1) -> None:
    """Print job ids as they were given out, then raise the first failure, then wait when that was asked for."""
    submitted = [outcome for outcome in outcomes if outcome.job_id is not None]
    if as_json and not waiting:
        import json

        rows = [{"run": each.run.id, "job_id": each.job_id, "path": str(each.run.path)} for each in submitted]
        click.echo(json.dumps({"runs": rows}, ensure_ascii=False, indent=1))
    elif not as_json:
        for outcome in submitted:
            click.echo(f"{outcome.run.id}  {outcome.job_id}")
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), outcomes.error)
    if error is not None:
        show_stop(outcomes, max(wanted, len(outcomes)))
        raise error
    if not waiting:
        if submitted and not as_json:
            click.echo(message("cli.submit_next", run=submitted[0].run.id[-8:]), err=True)
        return
    from hackathon.cli.diagnose import show_cause
    from hackathon.cli.wait import wait
    from hackathon.runs.after import waited_for

    states = wait([outcome.run for outcome in submitted])
    if as_json:
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"runs": [asdict(state) for state in states]}, ensure_ascii=False, indent=1))
    elif len(states) == 1 and states[0].state == "SUCCEEDED":
        from hackathon.cli.results import show_run

        show_run(submitted[0].run, states[0])
        show_cause(submitted[0].run, states[0])
    failed = [state for state in states if state.state != "SUCCEEDED"]
    for state in failed:
        run = next(outcome.run for outcome in submitted if outcome.run.id == state.run_id)
        show_tail(waited_for(run).path if state.cause == "preflight_failed" else run.path, state.first_rank)
        show_cause(run, state)
    if failed:
        raise click.exceptions.Exit(1)


def show_stop(outcomes: "Outcomes", wanted: int) -> None:
    """Print how many of the wanted runs were submitted, and which may be in the queue although nobody said so."""
    from hackathon.runs.submit import is_unclear

    done = sum(outcome.job_id is not None for outcome in outcomes)
    unclear = [outcome.run for outcome in outcomes if outcome.error is not None and is_unclear(outcome.run)]
    if done or wanted - done - len(unclear):
        click.echo(message("cli.submit_stopped", done=done, left=wanted - done - len(unclear)), err=True)
    for run in unclear:
        click.echo(message("cli.submit_unclear", run=run.id[-8:]), err=True)


def show_tail(run: Path, rank: int | None = None) -> None:
    """Print the last lines of a failed run's logs with their paths; the rank that failed first comes last."""
    from hackathon.cli.show import printable
    from hackathon.logs.follow import tail

    logs = [run / "logs" / name for name in ("scheduler.log", "job.log", f"rank-{rank or 0}.log")]
    for path in logs:
        lines = tail(path, 12) if path.is_file() else []
        if lines:
            click.echo(f"--- {path}", err=True)
            for line in lines:
                click.echo(f"  {printable(line)}", err=True)


def _after(text: str | None, runs: Path) -> tuple[str, str] | None:
    if text is None:
        return None
    from hackathon.runs.directory import find_run

    kind, sign, name = text.partition(":")
    if not sign or kind not in ("ok", "any"):
        kind, name = "ok", text
    run = find_run(name, runs)
    job_id = run.job_id()
    if job_id is None:
        raise RequestError("cli.no_job_yet", run=run.id)
    return kind, job_id


def _again(text: str, as_json: bool) -> None:
    from hackathon.cli.budget import admit_again
    from hackathon.cli.options import runs_folder
    from hackathon.runs.chain import dependency
    from hackathon.runs.directory import find_run
    from hackathon.runs.submit import Outcome, Outcomes, submit
    from hackathon.schedulers import registry

    run = find_run(text, runs_folder())
    admit_again(run.request(), run.path.parent.parent)
    job_id = submit(run, registry.load(run.request().scheduler), again=True, after=dependency(run))
    finish(Outcomes([Outcome(run, job_id)]), False, as_json)
