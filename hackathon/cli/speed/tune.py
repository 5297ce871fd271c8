"""`hackathon tune`: propose trials, run them as jobs and stop bad ones early, until trials or tokens are used up."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, job_options, named, option_force, option_trust, option_yes, typed
from hackathon.jobs.request import Options
from hackathon.text.messages import N_, Message, _, ngettext, pgettext

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.tuning.trials.former import WarmStart
    from hackathon.tuning.trials.objective import Objective
    from hackathon.tuning.trials.plan import TuningPlan
    from hackathon.tuning.trials.space import Dimension
    from hackathon.tuning.trials.tuner import Tuner

SAMPLERS, STOPPERS = ("optuna", "random", "grid"), ("predict", "halving", "median", "none")
MARGIN = 300
"""Seconds of walltime beyond the objective's time, for the start of the program and for late values."""

KEPT = frozenset({
    "cluster", "queue", "group", "reservation", "qos", "constraint", "nodes", "processes", "processes_per_node",
    "threads", "walltime", "launcher", "binding", "no_project", "parameter", "minimise", "sampler", "stopper", "delta",
    "seed", "warm", "note", "tags", "in_place",
})  # fmt: skip
"""Options that a study keeps from its beginning."""


@named(
    "tune",
    help=_(
        "Run trials of a program as jobs, several at once, and find the parameters that give the best result. "
        "--space sets the search space: log:a:b, lin:a:b, int:a:b, or a list of values. --objective is "
        "METRIC@DURATION (the value after that time), METRIC (the value at the end), or time-to:METRIC:VALUE "
        "(the time until it is reached). A trial whose predicted learning curve has little chance to become "
        "the best is cancelled, and the next one starts in its place. The maximum cost is shown and confirmed "
        "first. After Ctrl-C the jobs continue; --resume continues, also from a second terminal.\n"
        "\n"
        "  hackathon tune torch-ddp --space lr=log:1e-3:1 --objective loss@5min --trials 20\n"
        "  hackathon tune --space lr=log:1e-4:1 --space batch_size=32,64,128 --objective accuracy@10min "
        "--tokens 20\n"
        "  hackathon tune --space lr=0.01,0.1,1 --objective time-to:accuracy:0.95 --sampler grid --concurrent "
        "2\n"
        "  hackathon tune --resume"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--space",
    multiple=True,
    metavar="NAME=VALUES",
    help=_("What varies: NAME=log:a:b, lin:a:b, int:a:b or NAME=x,y,z. Repeatable."),
)
@click.option(
    "--objective",
    metavar="OBJECTIVE",
    help=_("What is optimised: METRIC@DURATION (accuracy@10min), METRIC, or time-to:METRIC:VALUE."),
)
@click.option(
    "--minimise/--maximise",
    default=None,
    help=_(
        "Whether a smaller or a larger value is better. Default: from the recipe's check, else from the metric's name."
    ),
)
@click.option("--concurrent", type=click.IntRange(1, 1000), metavar="N", help=_("Trials that run at once. Default: 4."))
@click.option(
    "--trials",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help=_("Number of trials. Default: 30, or as many as the tokens pay for."),
)
@click.option(
    "--tokens",
    type=click.FloatRange(min=0, min_open=True),
    metavar="T",
    help=_(
        "Tokens that all trials together may cost at most. A trial starts only if its full walltime is still covered."
    ),
)
@click.option(
    "--sampler",
    type=click.Choice(SAMPLERS),
    default="optuna",
    show_default=True,
    help=_("What proposes trials: optuna (needs the extra `tune`), random, or grid (5 values of a range)."),
)
@click.option(
    "--stopper",
    type=click.Choice(STOPPERS),
    default="predict",
    show_default=True,
    help=_("What stops trials early: predicted curves, successive halving, the median rule, or nothing."),
)
@click.option(
    "--delta",
    type=click.FloatRange(0.0001, 0.5),
    default=0.02,
    show_default=True,
    metavar="P",
    help=_("Stop a trial when its probability of becoming the best is below P."),
)
@click.option("--seed", default="1", metavar="TEXT", help=_("Seed of the proposals."))
@click.option(
    "--compare",
    metavar="NAME",
    default="",
    help=_(
        "Compare the choices of this dimension, such as optimizer: each gets as many trials as the others "
        "until one is surely better; that one gets the rest."
    ),
)
@click.option(
    "--inside-allocation",
    "inside",
    is_flag=True,
    help=_(
        "Run the trials inside the allocation that this command runs in: as steps of the Slurm job, otherwise "
        "as processes of this machine, each with its own cores and GPUs."
    ),
)
@click.option(
    "--warm-start/--no-warm-start",
    "warm",
    default=True,
    help=_(
        "Begin with the best configurations of your team's former studies of the same program and parameters, "
        "and predict by their curves (default); or begin from nothing."
    ),
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[STUDY]",
    help=_(
        "Continue a tuning study; without a name, the newest. --concurrent, --trials, and --tokens change its limits."
    ),
)
@click.option("--note", default="", metavar="TEXT", help=_("Note shown in results and on pages."))
@click.option("--tag", "tags", multiple=True, metavar="WORD", help=_("A tag; may be repeated."))
@click.option(
    "--in-place", is_flag=True, default=None, help=_("Run in the project folder itself instead of a snapshot.")
)
@click.option("--dry-run", is_flag=True, help=_("Show what would be tried and the most it can cost; submit nothing."))
@option_yes
@option_force
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    target: str | None,
    options: Options,
    space: tuple[str, ...],
    objective: str | None,
    minimise: bool | None,
    concurrent: int | None,
    trials: int | None,
    tokens: float | None,
    sampler: str,
    stopper: str,
    delta: float,
    seed: str,
    compare: str,
    inside: bool,
    warm: bool,
    resume: str | None,
    note: str,
    tags: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    force: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.cli.program_findings import refuse_errors
    from hackathon.cli.speed.tune_shown import show_json, show_table, watch
    from hackathon.jobs.sources import find_sources
    from hackathon.text.errors import HackathonError, RequestError
    from hackathon.tuning.trials.former import NOTHING
    from hackathon.tuning.trials.outcome import best, hopeless
    from hackathon.tuning.trials.plan import USUAL_TRIALS, TuningPlan
    from hackathon.tuning.trials.result import best_line
    from hackathon.tuning.trials.tuner import begin

    limits = {"concurrent": concurrent, "trials": trials, "tokens": tokens}
    if resume is not None:
        if space or objective or inside or compare:
            raise RequestError(
                "tune.with_resume",
                "--resume continues with the study's own space and objective",
                hint="Leave out --space, --objective, --compare, and --inside-allocation.",
            )
        if fixed := typed(KEPT):
            raise RequestError(
                "tune.kept",
                "{options}: fixed when the tuning began",
                hint="--resume takes --concurrent, --trials, and --tokens; for other changes begin a new tuning.",
                options=", ".join(fixed),
            )
        tuner = _again(resume, target, {name: limit for name, limit in limits.items() if limit is not None}, foreign)
        if dry_run:
            return
    else:
        if not objective:
            raise RequestError(
                "tune.no_objective",
                "--objective is missing",
                hint="Examples: accuracy@10min, loss, time-to:accuracy:0.95. To continue a study: --resume",
            )
        sources = find_sources(target, options, foreign=foreign)
        if inside:
            sources, concurrent = _inside(sources, concurrent, tokens)
        goal, dimensions = _read(sources, space, objective, None if minimise is None else not minimise)
        plan = TuningPlan(
            dimensions, goal, sampler, stopper, concurrent or 4,
            trials or (None if tokens is not None else USUAL_TRIALS), tokens, delta, seed,
            compare, inside,
        )  # fmt: skip
        if compare:
            _check_compared(plan)
        planned, plan = _planned(_with_walltime(sources, goal), plan)
        refuse_errors(sources, planned.jobs[0].request, force=force or dry_run)
        former = _warm_start(planned, plan) if warm else NOTHING
        _confirm(planned, plan, yes or dry_run)
        if dry_run:
            return
        tuner = begin(planned, plan, note=note, tags=tags, warm=former)
        click.echo(pgettext("tune", "study {study}", study=tuner.campaign.study.id), err=True)
    outcomes = watch(tuner)
    (show_json if as_json else show_table)(tuner.campaign.study.id, tuner.plan, outcomes)
    if best(outcomes, tuner.plan) is None:
        if hopeless(outcomes):
            run = next(outcome.run for outcome in outcomes if outcome.run is not None)
            raise HackathonError(
                "tune.given_up",
                "the first {count} trials failed; no more are started",
                hint="Find the cause: hackathon diagnose {run!q}",
                count=len(outcomes),
                run=run.id[-8:],
            )
        if as_json:
            click.echo(best_line(tuner.plan, outcomes), err=True)
        raise click.exceptions.Exit(1)


def _inside(sources: "Sources", concurrent: int | None, tokens: float | None) -> "tuple[Sources, int]":
    """Return the sources of trials inside this allocation, and how many run at once. Raises RequestError."""
    import os

    from hackathon.text.errors import RequestError
    from hackathon.tuning.trials.allocation import find_allocation, inside

    if tokens is not None:
        raise RequestError(
            "tune.inside_tokens",
            "trials inside an allocation cost nothing beyond it, so --tokens has no meaning",
            hint="Limit the number: --trials 20",
        )
    allocation = find_allocation(os.environ)
    count = concurrent or allocation.usual
    allocated = inside(sources, allocation, count)
    click.echo(
        _(
            N_(
                "each trial is a step of Slurm job {job} ({nodes} {nodes:node|nodes}) with {cores} "
                "{cores:core|cores} and {gpus} {gpus:GPU|GPUs}"
            )
            if allocation.step_of
            else N_("each trial gets {cores} {cores:core|cores} and {gpus} {gpus:GPU|GPUs} of this machine"),
            job=allocation.step_of,
            nodes=allocation.nodes,
            cores=allocated.cluster.node.cores,
            gpus=allocated.cluster.node.gpus,
        ),
        err=True,
    )
    return allocated, count


def _read(
    sources: "Sources", space: tuple[str, ...], objective: str, maximise: bool | None
) -> "tuple[Objective, tuple[Dimension, ...]]":  # fmt: skip
    """Return the objective and the dimensions. Raises RequestError."""
    from hackathon.jobs.resolve import declared_parameters, resolve
    from hackathon.tuning.trials.objective import read_objective
    from hackathon.tuning.trials.space import read_space

    declared = declared_parameters(sources.project, sources.recipe)
    dimensions = read_space(space, declared, sources.options.parameters)
    request = resolve(sources)
    return read_objective(objective, request.check, maximise, metrics=request.metrics), dimensions


def _with_walltime(sources: "Sources", objective: "Objective") -> "Sources":
    """Return the sources with a walltime that covers the objective's time, unless the user chose one.

    Raises RequestError if the chosen one is shorter.
    """
    import math
    from dataclasses import replace

    from hackathon.jobs.resolve import resolve
    from hackathon.text.errors import RequestError
    from hackathon.text.units import format_walltime

    if objective.seconds is None:
        return sources
    requested = sources.options.walltime
    if requested is not None:
        if requested < objective.seconds:
            raise RequestError(
                "tune.walltime",
                "the walltime {walltime} ends before the objective's time {needed}",
                hint="Leave --walltime out, or make it longer.",
                walltime=format_walltime(requested),
                needed=format_walltime(math.ceil(objective.seconds)),
            )
        return sources
    request = resolve(sources)
    queue = sources.cluster.queues.get(request.queue or "")
    longest = queue.longest(request.nodes) if queue is not None else None
    needed = math.ceil(objective.seconds) + MARGIN
    if longest and longest >= objective.seconds:
        needed = min(needed, longest)
    return replace(sources, options=replace(sources.options, walltime=needed))


def _planned(sources: "Sources", plan: "TuningPlan") -> "tuple[Plan, TuningPlan]":
    """Return the plan whose one job is the first trial, repeated for the highest cost of all trials.

    Raises RequestError if no trial can be proposed, or if the cluster's profile has no token rates.
    """
    from dataclasses import replace

    from hackathon.jobs.cost import cost
    from hackathon.jobs.grid import Cell, with_settings
    from hackathon.jobs.resolve import resolve
    from hackathon.runs.campaign import plan as plan_campaign
    from hackathon.text.errors import RequestError
    from hackathon.tuning.trials.samplers import grid_of, propose

    first = propose(plan, ())
    assert first is not None  # every dimension has a value
    if plan.sampler == "grid":
        points = len(grid_of(plan.space, plan.seed))
        plan = replace(plan, trials=min(plan.trials or points, points))
    cell = Cell(resolve(with_settings(sources, first)), first)
    repeat = plan.trials or 1
    if plan.tokens is not None:
        price = cost([cell.request], sources.cluster).tokens
        if price is None:
            raise RequestError(
                "tune.no_rates",
                "the profile of {cluster} has no price in tokens",
                hint="Limit the number instead: --trials 20; or set `rates` in the profile.",
                cluster=sources.cluster.name,
            )
        if price > plan.tokens:
            raise RequestError(
                "tune.too_few_tokens",
                "one trial can cost {needed} tokens, more than the limit of {tokens}",
                hint="Raise --tokens, or shorten --walltime.",
                tokens=f"{plan.tokens:g}",
                needed=f"{price:.2f}",
            )
        lasting = int(plan.tokens / price) if price else 1
        repeat = max(1, min(plan.trials or lasting, lasting))
    return plan_campaign(sources, [cell], repeat=repeat), plan


def _check_compared(plan: "TuningPlan") -> None:
    """Raise RequestError for algorithms outside the space, or with too few trials to be distinguished."""
    from hackathon.text.errors import RequestError
    from hackathon.tuning.trials.algorithms import FIRST_LOOK

    axis = next(
        (dimension for dimension in plan.space if dimension.name == plan.compare and len(dimension.choices) > 1), None
    )
    if axis is None:
        names = ", ".join(dimension.name for dimension in plan.space if len(dimension.choices) > 1)
        raise RequestError(
            "tune.not_choices",
            "--compare {name}: not a dimension of the space with several choices",
            hint="Example: --space optimizer=sgd,adam --compare optimizer. Dimensions with choices: {names}",
            name=plan.compare,
            names=names or "–",
        )
    least = FIRST_LOOK * len(axis.choices)
    if plan.trials is not None and plan.trials < least:
        raise RequestError(
            "tune.compare_few",
            "{count} choices of {name} need at least {least} trials to be told apart",
            hint="Use --trials {least} or more.",
            name=plan.compare,
            count=len(axis.choices),
            least=least,
        )


def _warm_start(planned: "Plan", plan: "TuningPlan") -> "WarmStart":
    """Return the trials reused from former studies, and print them."""
    from hackathon.jobs.settings import settings_text
    from hackathon.text.printable import printable
    from hackathon.tuning.trials.former import former_studies, warm_start

    start = warm_start(former_studies(planned.sources.runs.parent), plan, planned.jobs[0].request)
    if start.studies:
        counts = {
            "configurations": len(start.configurations), "curves": len(start.curves),
            "studies": ", ".join(study[-8:] for study in start.studies),
        }  # fmt: skip
        click.echo(
            _(
                "warm start: {configurations} {configurations:configuration|configurations} and {curves} "
                "{curves:curve|curves} of former studies ({studies}); --no-warm-start leaves them out",
                **counts,
            ),
            err=True,
        )
        for configuration in start.configurations if plan.sampler != "grid" else ():
            click.echo(printable(_("tried first: {settings}", settings=settings_text(configuration))), err=True)
        if start.outside:
            click.echo(
                ngettext(
                    "{count} of their best configurations lies outside the space and is left out",
                    "{count} of their best configurations lie outside the space and are left out",
                    start.outside,
                    count=start.outside,
                ),
                err=True,
            )
    return start


def _confirm(planned: "Plan", plan: "TuningPlan", yes: bool) -> None:
    """Print the plan of the trials and their cost, and ask."""
    from hackathon.cli.shown import confirm
    from hackathon.text.printable import printable

    space = " ".join(f"{dimension.name}={dimension.text}" for dimension in plan.space)
    click.echo(
        _(
            N_("maximise {objective} over {space}; sampler {sampler}, stopper {stopper}, {concurrent} at once")
            if plan.objective.more_is_better
            else N_("minimise {objective} over {space}; sampler {sampler}, stopper {stopper}, {concurrent} at once"),
            objective=plan.objective.text,
            space=printable(space),
            sampler=plan.sampler,
            stopper=plan.stopper,
            concurrent=plan.concurrent,
        ),
        err=True,
    )
    count = _("as many as the tokens pay for") if plan.trials is None else str(plan.trials)
    confirm(
        planned, yes, _("Start up to {count} trials, {concurrent} at once?", count=count, concurrent=plan.concurrent)
    )


def _again(resume: str, target: str | None, changes: dict[str, int | float], foreign: "Foreign") -> "Tuner":
    """Return the tuner of an earlier study. Raises RequestError."""
    from hackathon.cli.options import runs_folder
    from hackathon.jobs.cost import cost
    from hackathon.runs.study import find_studies, find_study
    from hackathon.text.errors import RequestError
    from hackathon.tuning.trials.tuner import again

    project = runs_folder().parent
    study = find_study(resume, project) if resume else next((s for s in find_studies(project) if s.tuned), None)
    if study is None:
        raise RequestError("tune.nothing_to_resume", "no tuning study in {folder}", folder=project)
    tuner = again(study, project, target, changes, foreign)
    cluster = tuner.campaign.sources.cluster
    if "tokens" in changes and cost([study.base_request()], cluster).tokens is None:
        raise RequestError(
            Message(
                "tune.inside_tokens",
                "trials inside an allocation cost nothing beyond it, so --tokens has no meaning",
                hint="Limit the number: --trials 20",
            )
            if tuner.plan.inside
            else Message(
                "tune.no_rates",
                "the profile of {cluster} has no price in tokens",
                hint="Limit the number instead: --trials 20; or set `rates` in the profile.",
            ),
            cluster=cluster.name,
        )
    _admit_rest(tuner)
    return tuner


def _admit_rest(tuner: "Tuner") -> None:
    """Check the rest of a tuning against the team's budget. Raises RequestError if it is spent."""
    from hackathon.cli.budget import admit
    from hackathon.jobs.cost import cost
    from hackathon.jobs.plan import Plan, PlannedJob
    from hackathon.runs.status import status
    from hackathon.runs.study import runs_of
    from hackathon.tuning.trials.outcome import tokens_open, tokens_used

    campaign, plan = tuner.campaign, tuner.plan
    request, sources = campaign.study.base_request(), campaign.sources
    trials = tuner.look(status(runs_of(campaign.study), ask=False))
    submitted = [trial for trial in trials if trial.run is not None]  # a trial without a run is not submitted yet
    counts = [] if plan.trials is None else [plan.trials - len(submitted)]
    price = cost([request], sources.cluster).tokens
    if plan.tokens is not None and price:
        counts.append(int((plan.tokens * (1 + 1e-9) - tokens_used(submitted) - tokens_open(submitted)) / price))
    if (left := min(counts, default=1)) > 0:
        admit(Plan(sources, (PlannedJob(request, sources),), left))
