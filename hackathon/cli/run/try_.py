"""`hackathon try`: a short run that checks how a program is understood, and lists problems to solve before a study."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import (
    completing,
    job_options,
    named,
    option_force,
    option_trust,
    option_yes,
    several_processes,
)
from hackathon.jobs.request import Options
from hackathon.runs.record import REHEARSAL_TAG
from hackathon.text.messages import _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources
    from hackathon.rehearsal.comparison import Compared
    from hackathon.rehearsal.rehearsal import RehearsalLimits
    from hackathon.rehearsal.understood import Understood
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import RunStatus


@named(
    "try",
    help=_(
        "Run the program for about a minute, on 1 and 2 processes, and show what was understood: ranks, metrics "
        "with the lines they came from, time of a step, batch, memory, and files that it wrote. A program of "
        "`hackathon port` for PyTorch (NAME.ported.py) then runs on 2 processes beside NAME.py on 1, with the same "
        "samples in each step, and their losses are compared. It ends with "
        "`ready`, or with a list of corrections. It uses the cluster's debug queue if the profile "
        "marks one. The run does not count as a result. After Ctrl-C the same command continues.\n"
        "\n"
        "  hackathon try\n"
        "  hackathon try --processes 1,4 --seconds 120\n"
        "  hackathon try --json"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--seconds",
    type=click.IntRange(10, 3600),
    default=60,
    show_default=True,
    metavar="N",
    help=_("End each run this many seconds after its ranks began."),
)
@click.option(
    "--steps",
    type=click.IntRange(1, 1_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help=_("End a run earlier, after this many values of a metric and once the throughput has been told."),
)
@option_yes
@option_force
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
@several_processes
def command(
    target: str | None,
    options: Options,
    seconds: int,
    steps: int,
    yes: bool,
    force: bool,
    foreign: "Foreign",
    as_json: bool,
    counts: list[int] | None = None,
) -> None:
    from hackathon.cli.run.rehearsal_shown import compared_finding, show_json, show_rehearsal
    from hackathon.jobs.sources import find_sources
    from hackathon.programs.training.of_sources import read_sources
    from hackathon.rehearsal.rehearsal import RehearsalLimits, note_told
    from hackathon.rehearsal.verdict import findings, is_ready

    limits = RehearsalLimits(seconds, steps)
    sources = find_sources(target, options, foreign=foreign)
    planned = _plan(in_debug_queue(sources), counts, limits)
    largest = max((job.request for job in planned.jobs), key=lambda request: request.processes)
    reports = read_sources(sources, largest)
    bare = [report for report, _ in reports]
    rehearsals: list[Understood] = []
    runs: list[RunDirectory] = []
    wrong = any(report.has_errors for report in bare)
    if not wrong or force:
        runs, states = _run(planned, limits, yes)
        rehearsals = [_understood(run, state) for run, state in zip(runs, states, strict=True)]
    problems = findings(rehearsals)
    ready = is_ready(bare, problems, rehearsals)
    compared = _compared(in_debug_queue(sources), limits, yes) if ready and len(rehearsals) > 1 else None
    note_told(runs)
    if compared is not None and compared.result == "differs":
        problems, ready = [compared_finding(compared), *problems], False
    if as_json:
        show_json(sources, reports, rehearsals, problems, ready, compared)
    else:
        show_rehearsal(sources, reports, rehearsals, problems, ready, compared)
    if not ready:
        raise click.exceptions.Exit(1)


def in_debug_queue(sources: "Sources") -> "Sources":
    """Return the sources with the cluster's queue for short tests, if it has one and the user chose none."""
    from hackathon.rehearsal.rehearsal import debug_queue

    queue = debug_queue(sources)
    return sources if queue is None else replace(sources, options=replace(sources.options, queue=queue))


def _compared(sources: "Sources", limits: "RehearsalLimits", yes: bool) -> "Compared | None":
    """Run a ported program and its original with the same samples in each step; None for others, and for a no."""
    from hackathon.jobs.resolve import points, resolve
    from hackathon.rehearsal import comparison
    from hackathon.rehearsal.rehearsal import note_told

    original = comparison.original_of(sources.folder, resolve(sources).command)
    if original is None:
        return None
    if not original.recorded:
        return comparison.unrecorded(original)
    one, several = points(sources, [1, comparison.PROCESSES], "weak")
    planned = _planned(sources, comparison.compared_requests(one, several, original.command), limits)
    click.echo(_("comparing the losses of the ported program with those of {name}", name=original.name), err=True)
    try:
        runs, states = _run(planned, limits, yes, comparison.TAGS)
    except click.Abort:  # a no to these jobs: the first runs are printed all the same
        return None
    note_told(runs)
    return comparison.compare(original.name, runs, states)


def _plan(sources: "Sources", counts: list[int] | None, limits: "RehearsalLimits") -> "Plan":
    """Return the plan of the rehearsal's runs, each on as few nodes as possible, with one walltime for all."""
    from hackathon.jobs.resolve import points, resolve
    from hackathon.rehearsal.rehearsal import usual_counts

    return _planned(sources, points(sources, counts or usual_counts(resolve(sources)), "weak"), limits)


def _planned(sources: "Sources", requests: "list[Request]", limits: "RehearsalLimits") -> "Plan":
    from hackathon.rehearsal.rehearsal import shortened
    from hackathon.runs.campaign import plan

    def longest(nodes: int, name: str | None) -> int | None:
        queue = sources.cluster.queues.get(name or "")
        return queue.longest(nodes) if queue is not None else None

    return plan(sources, [shortened(request, limits, longest(request.nodes, request.queue)) for request in requests])


def _run(
    planned: "Plan", limits: "RehearsalLimits", yes: bool, tags: tuple[str, ...] = (REHEARSAL_TAG,)
) -> "tuple[list[RunDirectory], list[RunStatus]]":
    """Return the rehearsal's runs with their final states: submitted now, or by an interrupted call."""
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import confirm, show_outcomes
    from hackathon.rehearsal.rehearsal import unfinished
    from hackathon.runs.campaign import program_of, start

    source = program_of(planned)
    by_processes = unfinished(planned, source, tags)
    for run in by_processes.values():
        click.echo(_("continuing with run {run} of an interrupted `hackathon try`", run=run.id), err=True)
    jobs = tuple(job for job in planned.jobs if job.request.processes not in by_processes)
    if jobs:
        remaining = replace(planned, jobs=jobs)
        confirm(
            remaining,
            yes,
            ngettext(
                "Submit {count} short job?",
                "Submit {count} short jobs?",
                len(remaining.jobs),
                count=len(remaining.jobs),
            ),
        )
        outcomes = start(remaining, tags=tags, source=source)
        show_outcomes(outcomes, len(jobs))
        by_processes |= {outcome.run.known().processes: outcome.run for outcome in outcomes}
    runs = [by_processes[count] for count in sorted(by_processes)]
    if tags == (REHEARSAL_TAG,):
        _tell_limits(limits)
    compares = tags != (REHEARSAL_TAG,)
    states = wait(runs, lambda states, watched: _ended(states, watched, limits, compares))
    return runs, states


def _tell_limits(limits: "RehearsalLimits") -> None:
    click.echo(
        _(
            "each run ends after {seconds} s, or once it has printed {steps} values of a metric and its "
            "throughput; Ctrl-C stops waiting, the same command continues",
            seconds=limits.seconds,
            steps=limits.steps,
        ),
        err=True,
    )


def _ended(states: "list[RunStatus]", runs: "list[RunDirectory]", limits: "RehearsalLimits", compares: bool) -> bool:
    """End the runs that have shown enough; there is never more to submit."""
    from hackathon.rehearsal.comparison import shows_enough
    from hackathon.rehearsal.rehearsal import FACT, is_enough, note_end
    from hackathon.runs.cancel import cancel

    for run, state in zip(runs, states, strict=False):
        if state.state != "RUNNING" or run.client(FACT).get("ended"):
            continue
        why = shows_enough(run, limits) if compares else is_enough(run, limits)
        if why:
            note_end(run, why)
            cancel(run, sure=True)
    return False


def _understood(run: "RunDirectory", state: "RunStatus") -> "Understood":
    from hackathon.cli.run.diagnose import cause_of
    from hackathon.rehearsal.rehearsal import ended_by_us
    from hackathon.rehearsal.understood import understand

    failed = state.state != "SUCCEEDED" and ended_by_us(run, state) in ("", "silent")
    return understand(run, state, cause_of(run, state) if failed else None)
