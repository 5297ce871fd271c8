"""`hackathon scale`: a scaling study, from the queue to the table."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import job_options, named, several_processes
from hackathon.cli.segments import refuse_for_study
from hackathon.jobs.options import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus
    from hackathon.runs.study import Study
    from hackathon.runs.submit import Outcomes

SHOWN_FAILURES = 2
"""Failed points whose last log lines are shown: what breaks one point usually breaks all."""


@named("scale")
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--mode", type=click.Choice(["weak", "strong"]), default="weak", show_default=True,
              help=message("help.option_mode"))  # fmt: skip
@click.option("--repeat", metavar="N", type=click.IntRange(1, 100), default=1, help=message("help.option_scale_repeat"))
@click.option("--max-queued", metavar="N", type=click.IntRange(min=1), help=message("help.option_max_queued"))
@click.option("--resume", is_flag=False, flag_value="", metavar="[STUDY]", help=message("help.option_resume"))
@click.option("--note", default="", metavar="TEXT", help=message("help.option_note"))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=message("help.option_tag"))
@click.option("--segments", hidden=True, expose_value=False, callback=refuse_for_study)
@click.option("--preflight", is_flag=True, help=message("preflight.option"))
@click.option("--in-place", is_flag=True, default=None, help=message("help.option_in_place"))
@click.option("--dry-run", is_flag=True, help=message("help.option_dry_run"))
@click.option("--wait", "waiting", is_flag=True, help=message("help.option_wait"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
@several_processes
def command(
    target: str | None,
    options: Options,
    mode: str,
    repeat: int,
    max_queued: int | None,
    resume: str | None,
    note: str,
    tags: tuple[str, ...],
    preflight: bool,
    dry_run: bool,
    waiting: bool,
    as_json: bool,
    counts: list[int] | None = None,
) -> None:
    if resume is not None:
        if preflight:
            raise RequestError("preflight.with_resume")
        study, sources = _resumed(resume, target, options)
        _admit_rest(study, sources)
    else:
        if not counts:
            raise RequestError("cli.scale_needs_processes")
        about = {"note": note, "tags": list(tags)}
        made = _planned(target, options, counts, mode, repeat, dry_run, about, preflight)
        if made is None:
            return
        study, sources = made
    _go_on(study, sources, max_queued, waiting, as_json)


def _planned(
    target: str | None,
    options: Options,
    counts: list[int],
    mode: str,
    repeat: int,
    dry_run: bool,
    about: dict[str, Any],
    preflight: bool,
) -> "tuple[Study, Sources] | None":
    from hackathon.cli.budget import admit
    from hackathon.cli.preflight import preflight_request, submit_before
    from hackathon.cli.show import echo_advice, request_line
    from hackathon.jobs.check import check
    from hackathon.jobs.gather import gather
    from hackathon.jobs.render import render
    from hackathon.jobs.resolve import points
    from hackathon.runs.launch import plan
    from hackathon.scaling.collect import metric_unit

    sources = gather(target, options, os.environ, Path.cwd())
    requests = points(sources, counts, mode)
    for request in requests:
        check(request, sources.cluster, sources.recipe, sources.runs)
        render(request, sources.cluster, sources.template_folders)
        click.echo(request_line(request), err=True)
    first = [preflight_request(requests[-1], sources)] if preflight else []  # of the largest point
    admit([*first, *requests * repeat], sources.cluster, sources.runs.parent, sources.event)
    echo_advice(requests)
    if dry_run:
        return None
    unit = metric_unit(requests[0].to_json(), requests[0].metric)
    for ahead in first:
        about = {**about, **submit_before(ahead, sources, None, about["note"])}
    study = plan(requests, repeat, project=sources.runs.parent, unit=unit, options=about)
    click.echo(message("cli.study_is", study=study.id, points=len(requests), repeat=repeat, mode=mode), err=True)
    return study, sources


def _resumed(name: str, target: str | None, options: Options) -> "tuple[Study, Sources]":
    from dataclasses import replace

    from hackathon.cli.options import runs_folder
    from hackathon.jobs.gather import gather
    from hackathon.runs.study import find_study, newest_study

    project = runs_folder().parent
    study = (find_study(name, project) if name else None) or newest_study(project)
    base = study.base_request()
    target = target or (None if (project / "project.yaml").is_file() else base.recipe)
    return study, gather(target, replace(options, cluster=base.cluster), os.environ, project)


def _admit_rest(study: "Study", sources: "Sources") -> None:
    """Hold what is left of a study against the team's budget."""
    from hackathon.cli.budget import admit
    from hackathon.runs.launch import request_of
    from hackathon.runs.status import status
    from hackathon.runs.study import pending_points, runs_of

    left = pending_points(study, status(runs_of(study), ask=False))
    if left:
        requests = [request_of(study, point.processes) for point in left]
        admit(requests, sources.cluster, study.runs_folder.parent, sources.event)


def _go_on(study: "Study", sources: "Sources", max_queued: int | None, waiting: bool, as_json: bool) -> None:
    """Submit what may be submitted now, wait if asked to, and show the table; exit code 1 when a point failed."""
    from hackathon.cli.diagnose import show_cause
    from hackathon.cli.submit import show_tail, show_warnings
    from hackathon.cli.wait import wait
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.launch import source_of, submit_points
    from hackathon.runs.status import status
    from hackathon.runs.study import next_points, pending_points, runs_of
    from hackathon.schedulers import registry

    scheduler = registry.load(study.base_request().scheduler)
    source = source_of(study, sources.folder)
    show_warnings(source)

    def submit_next(states: "list[RunStatus]") -> "list[RunDirectory]":
        due = next_points(study, max_queued, states=states)
        if not due:
            return []
        outcomes = submit_points(study, due, sources.cluster, scheduler, source, sources.template_folders)
        _show(outcomes)
        return [outcome.run for outcome in outcomes]

    def tick(states: "list[RunStatus]", watched: "list[RunDirectory]") -> bool:
        fresh = [run for run in submit_next(states) if run not in watched]
        watched.extend(fresh)
        return bool(fresh)

    submit_next(status(runs_of(study)))
    runs = runs_of(study)
    if waiting:
        for state in [state for state in wait(runs, tick) if state.state not in ("SUCCEEDED", "CREATED")][
            :SHOWN_FAILURES
        ]:
            run = RunDirectory(study.runs_folder / state.run_id)
            show_tail(run.path, state.first_rank)
            show_cause(run, state)
    states = status(runs_of(study))
    left = len(pending_points(study, states))
    if left:
        click.echo(message("cli.study_left", left=left, study=study.id[-8:]), err=True)
    if not waiting:
        if as_json:
            import json

            rows = [{"run": state.run_id, "job_id": state.job_id, "state": state.state} for state in states]
            click.echo(json.dumps({"study": study.id, "runs": rows, "left": left}, ensure_ascii=False, indent=1))
        click.echo(message("cli.study_next", study=study.id[-8:]), err=True)
        return
    from hackathon.cli.results import show_study

    show_study(study, states, "json" if as_json else "table")


def _show(outcomes: "Outcomes") -> None:
    """Print what was submitted; raise the first failure, after which nothing further was begun."""
    from hackathon.cli.submit import show_stop

    for outcome in outcomes:
        if outcome.job_id is not None:
            click.echo(f"{outcome.run.id}  {message('cli.job_is', job=outcome.job_id)}", err=True)
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), outcomes.error)
    if error is not None:
        show_stop(outcomes, len(outcomes))
        raise error
