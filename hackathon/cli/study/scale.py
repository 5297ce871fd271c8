"""`hackathon scale`: run a scaling study from submission to table."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import (
    completing,
    job_options,
    named,
    option_force,
    option_trust,
    option_yes,
    several_processes,
)
from hackathon.cli.run.segments import refuse_for_study
from hackathon.jobs.request import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.runs.campaign import Campaign
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus

SHOWN_FAILURES = 2
"""Failed points whose last log lines are printed, because one error usually breaks all points."""


@named(
    "scale",
    help=_(
        "Measure how the project scales: one job per process count, with the same number of threads at every "
        "point. Weak scaling keeps the batch per process fixed, strong scaling the global batch. Points that "
        "are not submitted yet are kept in the study.\n"
        "\n"
        "  hackathon scale --processes 1,2,4 --wait\n"
        "  hackathon scale --processes 1,2,4,8 --mode strong --repeat 3\n"
        "  hackathon scale --processes 1,2,4,8 --max-queued 2\n"
        "  hackathon scale --processes 1,2 --vary lr=0.1,0.2 --vary env.NCCL_ALGO=Ring,Tree\n"
        "  hackathon scale --resume            submit the remaining points"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUE,…",
    help=_(
        "Vary a setting over these values: a parameter, launcher, queue, group, reservation, "
        "processes_per_node, threads, walltime, or env.VARIABLE. Repeat the option for a grid."
    ),
)
@click.option("--mode", type=click.Choice(["weak", "strong"]), default="weak", show_default=True,
              help=_("weak: fixed batch per process; strong: fixed global batch."))  # fmt: skip
@click.option("--repeat", metavar="N", type=click.IntRange(1, 100), default=1, help=_("Number of runs per point."))
@click.option(
    "--max-queued",
    metavar="N",
    type=click.IntRange(min=1),
    help=_("Maximum number of jobs in the queue; `--resume` or `--wait` submits the rest."),
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[STUDY]",
    help=_("Submit the remaining points of a study (default: the newest)."),
)
@click.option("--note", default="", metavar="TEXT", help=_("Note shown in results and on pages."))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=_("A tag; may be repeated."))
@click.option("--segments", hidden=True, expose_value=False, callback=refuse_for_study)
@click.option("--preflight", is_flag=True, help=_("Check the nodes with a short job first; start only if it succeeds."))
@click.option(
    "--in-place", is_flag=True, default=None, help=_("Run in the project folder itself instead of a snapshot.")
)
@click.option("--dry-run", is_flag=True, help=_("Show what would be submitted, without submitting it."))
@click.option("--wait", "waiting", is_flag=True, help=_("Wait until all jobs have finished."))
@option_yes
@option_force
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
@several_processes
def command(
    target: str | None,
    options: Options,
    vary: tuple[str, ...],
    mode: str,
    repeat: int,
    max_queued: int | None,
    resume: str | None,
    note: str,
    tags: tuple[str, ...],
    preflight: bool,
    dry_run: bool,
    waiting: bool,
    yes: bool,
    force: bool,
    foreign: "Foreign",
    as_json: bool,
    counts: list[int] | None = None,
) -> None:
    from hackathon.cli.program_findings import refuse_errors
    from hackathon.cli.shown import confirm_several, show_plan, show_preflight
    from hackathon.jobs.grid import grid, read_axes
    from hackathon.jobs.sources import find_sources
    from hackathon.logs.final import metric_unit
    from hackathon.runs.campaign import begin, plan
    from hackathon.scaling.show import MODE_NAMES

    if resume is not None:
        if preflight:
            raise RequestError(
                "preflight.with_resume", "--preflight is chosen when a study is created, not when it is resumed"
            )
        from dataclasses import replace

        altered = replace(options, no_project=False) != Options()
        if vary or counts or altered or repeat > 1 or mode != "weak" or note or tags:
            raise RequestError(
                "grid.with_resume",
                "a resumed study keeps what was planned: --vary, job options, --mode, --repeat, --note and "
                "--tag cannot be combined with --resume",
                hint="leave them out, or start a new study",
            )
        campaign, remaining = _resumed(resume, target, options, foreign, dry_run)
        if not dry_run:
            _go_on(campaign, max_queued, waiting, as_json)
        elif as_json:
            _show_json(remaining)
        return
    if not counts:
        raise RequestError("cli.scale_needs_processes", "no process counts given", hint="--processes 1,2,4")
    sources = find_sources(target, options, foreign=foreign)
    cells = grid(sources, read_axes(vary, sources), counts, mode, repeat)
    planned = plan(sources, cells, repeat=repeat, preflight=preflight, admit=show_plan)
    largest = max((job.request for job in planned.jobs), key=lambda request: request.processes)
    refuse_errors(sources, largest, force=force or dry_run)
    _suggest_rehearsal(sources)
    if dry_run:
        if as_json:
            _show_json(planned)
        return
    confirm_several(planned, yes or as_json)
    request = planned.jobs[0].request
    unit = metric_unit(request.metrics, request.metric)
    campaign = begin(planned, note=note, tags=tags, unit=unit, told=show_preflight)
    study, points = campaign.study, len(planned.jobs)
    kind = _(MODE_NAMES[mode])
    click.echo(
        ngettext(
            "study {study}: {points} point × {repeat}, {mode}",
            "study {study}: {points} points × {repeat}, {mode}",
            points,
            study=study.id,
            points=points,
            repeat=repeat,
            mode=kind,
        ),
        err=True,
    )
    _go_on(campaign, max_queued, waiting, as_json)


def _suggest_rehearsal(sources: "Sources") -> None:
    """Suggest a rehearsal once, for a project with its own program and without a study or rehearsal."""
    from hackathon.runs.directory import find_runs
    from hackathon.runs.study import find_studies

    if sources.project is None or sources.project.command is None or find_studies(sources.runs.parent):
        return
    if not any(run.known().rehearsal for run in find_runs(sources.runs)):
        click.echo(
            _(
                "First time with this program? `hackathon try` takes a minute and says whether its numbers can "
                "be believed."
            ),
            err=True,
        )


def _resumed(
    name: str, target: str | None, options: Options, foreign: "Foreign", dry_run: bool
) -> "tuple[Campaign, Plan]":
    """Return an earlier study and its remaining points, after checking those against the team's budget."""
    from hackathon.cli.budget import admit
    from hackathon.cli.options import runs_folder
    from hackathon.cli.show import cost_text
    from hackathon.cli.shown import show_plan
    from hackathon.runs.campaign import resume
    from hackathon.runs.status import status
    from hackathon.runs.study import runs_of

    campaign = resume(name, target, options, runs_folder().parent, foreign=foreign)
    if campaign.study.tuned:
        raise RequestError(
            "tune.is_tuned",
            "{study} is a tuning study",
            hint="Continue it with: hackathon tune --resume {study!q}",
            study=campaign.study.id[-8:],
        )
    remaining = campaign.rest(status(runs_of(campaign.study), ask=False))
    if remaining.jobs:
        (show_plan if dry_run else admit)(remaining)
    elif dry_run:
        click.echo(cost_text(remaining.cost), err=True)  # nothing is left, which is printed
    return campaign, remaining


def _show_json(planned: "Plan") -> None:
    """Print the points that would be submitted, and their highest cost."""
    from dataclasses import asdict

    points = [
        {
            "processes": job.request.processes,
            "nodes": job.request.nodes,
            "settings": dict(job.settings),
            "repeat": planned.repeat,
        }
        for job in planned.jobs
    ]
    value = {"schema_version": 1, "points": points, "cost": asdict(planned.cost)}
    echo_json(value)


def _go_on(campaign: "Campaign", max_queued: int | None, waiting: bool, as_json: bool) -> None:
    """Submit what is allowed now, wait if requested, and print the table; exit code 1 if a point failed."""
    from hackathon.cli.run.diagnose import show_cause
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import show_outcomes, show_tail, show_warnings
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import status
    from hackathon.runs.study import LIVE, held_points, pending_points, runs_of

    study = campaign.study
    show_warnings(campaign.source)

    def submit_next(states: "list[RunStatus]") -> "list[RunDirectory]":
        outcomes = campaign.advance(max_queued, states)
        show_outcomes(outcomes)
        return [outcome.run for outcome in outcomes]

    def tick(states: "list[RunStatus]", watched: "list[RunDirectory]") -> bool:
        fresh = [run for run in submit_next(states) if run not in watched]
        watched.extend(fresh)
        return bool(fresh)

    try:
        submit_next(status(runs_of(study)))
    except KeyboardInterrupt:
        click.echo(
            _(
                "interrupted while jobs are submitted; what is submitted goes on. Submit the rest with: "
                "hackathon scale --resume {study!q}",
                study=study.id[-8:],
            ),
            err=True,
        )
        raise
    runs = runs_of(study)
    if waiting:
        for state in [state for state in wait(runs, tick) if state.state not in ("SUCCEEDED", "CREATED")][
            :SHOWN_FAILURES
        ]:
            run = RunDirectory(study.runs_folder / state.run_id)
            show_tail(run.path, state.first_rank)
            show_cause(run, state)
    states = status(runs_of(study))
    for state in states:
        if state.state == "UNCERTAIN":  # it counts as submitted, so that no point runs twice
            click.echo(
                _(
                    "it is unclear whether {run} reached the queue: `hackathon status` searches for it by its "
                    "name; if it stays UNCERTAIN, run `hackathon submit --again {run!q}`",
                    run=state.run_id[-8:],
                ),
                err=True,
            )
    left = len(pending_points(study, states))
    if left:
        click.echo(
            ngettext(
                "{left} job not submitted yet: hackathon scale --resume {study!q}",
                "{left} jobs not submitted yet: hackathon scale --resume {study!q}",
                left,
                left=left,
                study=study.id[-8:],
            ),
            err=True,
        )
    pending = len(held_points(study))
    if pending:
        click.echo(
            ngettext(
                "another process is submitting {held} job of this study; if they do not appear within "
                "{minutes} minutes: hackathon scale --resume {study!q}",
                "another process is submitting {held} jobs of this study; if they do not appear within "
                "{minutes} minutes: hackathon scale --resume {study!q}",
                pending,
                held=pending,
                study=study.id[-8:],
                minutes=round(LIVE / 60),
            ),
            err=True,
        )
    if not waiting:
        if as_json:
            rows = [{"run": state.run_id, "job_id": state.job_id, "state": state.state} for state in states]
            echo_json({"study": study.id, "runs": rows, "left": left, "held": pending})
        click.echo(_("next: hackathon status {study!q}; hackathon results {study!q}", study=study.id[-8:]), err=True)
        return
    from hackathon.cli.study.results import show_study

    show_study(study, states, "json" if as_json else "table")
