"""`hackathon submit`: one job, or the same job several times."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, job_options, named, option_force, option_requeue, option_trust, option_yes
from hackathon.jobs.request import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign


@named(
    "submit",
    help=_(
        "Submit the job of the project, or of a recipe. The job runs from a snapshot of the source, so you can "
        "keep editing.\n"
        "\n"
        "  hackathon submit --nodes 2 --wait\n"
        "  hackathon submit torch-ddp --cluster laptop --processes 2 -p epochs=5\n"
        "  hackathon submit --repeat 3 --note 'pinned memory'\n"
        "  hackathon submit --after ok:k3x9 --dry-run\n"
        "  hackathon submit --again k3x9        after an interrupted submission"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--repeat", metavar="N", type=click.IntRange(1, 1000), default=1, help=_("Number of times to submit the job.")
)
@click.option("--note", default="", metavar="TEXT", help=_("Note shown in results and on pages."))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=_("A tag; may be repeated."))
@click.option(
    "--after", metavar="[ok:|any:]RUN", help=_("Start after that run has succeeded (ok:) or finished (any:).")
)
@click.option(
    "--segments",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    help=_("Plan this many runs; each continues where the previous one reached its walltime."),
)
@click.option("--preflight", is_flag=True, help=_("Check the nodes with a short job first; start only if it succeeds."))
@option_requeue
@click.option(
    "--in-place", is_flag=True, default=None, help=_("Run in the project folder itself instead of a snapshot.")
)
@click.option(
    "--again", metavar="RUN", help=_("Submit a run again after an interrupted submission, if no job of it is found.")
)
@click.option("--dry-run", is_flag=True, help=_("Show what would be submitted, without submitting it."))
@click.option("--wait", "waiting", is_flag=True, help=_("Wait until all jobs have finished."))
@option_yes
@option_force
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
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
    yes: bool,
    force: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.cli.program_findings import refuse_errors
    from hackathon.cli.run.segments import refuse_repeat, show_submitted
    from hackathon.cli.shown import confirm_several, finish, show_plan, show_preflight, show_warnings
    from hackathon.jobs.sources import find_sources
    from hackathon.runs.campaign import plan, program_of, start

    if again is not None:
        if target is not None or options != Options() or repeat * segments > 1 or preflight or after or note or tags:
            raise RequestError(
                "cli.again_alone",
                "--again submits a run as it was made; only --dry-run, --wait, --trust and --json go with it",
                hint="for other options, submit a new run without --again",
            )
        _again(again, foreign, dry_run, waiting, as_json)
        return
    refuse_repeat(segments, repeat)
    if preflight and segments > 1:
        raise RequestError(
            "preflight.with_segments",
            "--preflight cannot be combined with --segments: the second segment would start even if the first "
            "is stopped",
            hint="run `hackathon submit preflight --wait` first, with the same --nodes and --launcher; then submit "
            "the segments",
        )
    sources = find_sources(target, options, foreign=foreign)
    waits = _after(after, sources.runs)
    planned = plan(sources, repeat=repeat * segments, preflight=preflight, admit=show_plan)
    refuse_errors(sources, planned.jobs[0].request, force=force or dry_run)
    source = program_of(planned)
    show_warnings(source)
    if dry_run:
        click.echo(planned.jobs[0].script.job, nl=False)
        return
    if repeat * segments > 1:
        confirm_several(planned, yes or as_json)
    outcomes = start(
        planned,
        note=note,
        tags=tags,
        source=source,
        after=waits,
        segments=segments,
        told=show_preflight,
    )
    if segments > 1:
        show_submitted([outcome.run for outcome in outcomes], outcomes, waiting, as_json)
    else:
        finish(outcomes, waiting, as_json, repeat)


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
        raise RequestError("cli.no_job_yet", "run {run} has no job yet", run=run.id)
    if kind == "ok":
        from hackathon.runs.states import ENDED, SUCCEEDED
        from hackathon.runs.status import status

        (state,) = status([run])
        if state.state in ENDED and state.state != SUCCEEDED:
            raise RequestError(
                "cli.after_failed",
                "run {run} has not succeeded ({state}): a job that waits for its success never starts",
                hint="`hackathon diagnose {run!q}` says why; --after any:{run!q} starts when it has ended, however",
                run=run.id[-8:],
                state=state.state,
            )
    return kind, job_id


def _again(text: str, foreign: "Foreign", dry_run: bool, waiting: bool, as_json: bool) -> None:
    from hackathon.cli.budget import admit_again
    from hackathon.cli.options import runs_folder
    from hackathon.cli.shown import finish
    from hackathon.jobs import places
    from hackathon.runs.campaign import resubmit
    from hackathon.runs.directory import find_run

    run = find_run(text, runs_folder())
    places.admit_again(run.path, run.path.parent.parent, foreign)
    admit_again(run, run.path.parent.parent)
    if dry_run:
        job_id, script = run.job_id(), run.files.read("job.sh")
        if job_id is not None:
            raise RequestError(
                "runs.submitted_already",
                "run {run} was already submitted: job {job_id}",
                hint="`hackathon rerun` creates a new run from the same script and source",
                run=run.id,
                job_id=job_id,
            )
        if script is None:
            raise RequestError(
                "runs.no_record",
                "{path} is not a run directory: request.json is missing or damaged",
                run=run.id,
                path=run.path,
            )
        click.echo(script, nl=False)
        return
    finish(resubmit(run), waiting, as_json)
