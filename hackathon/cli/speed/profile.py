"""`hackathon profile`: record a few steps of a program and analyse their time; also from existing traces."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, job_options, named, option_force, option_trust, option_yes, typed
from hackathon.jobs.request import Options
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import N_, Message, _, ngettext

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.plan import Plan
    from hackathon.jobs.resolve import Sources
    from hackathon.profiling.traces.report import Profile
    from hackathon.profiling.traces.roofline import Peaks
    from hackathon.rehearsal.profile_run import RecordingLimits
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.source.snapshot import Source
    from hackathon.runs.status import RunStatus

_NONE_TEXTS = {
    "steps": Message(
        "profile.none_steps",
        "run {run} ended after {steps} {steps:step|steps}; recording takes {needed}",
        hint="Train longer, or record fewer steps: --skip 2 --steps 3",
    ),
    "failed": Message(
        "profile.none_failed",
        "run {run} could not be recorded: {text}",
        hint="The recorder needs torch 2.0, TensorFlow 2 or Chainer 7, and that no other profiler runs in the program.",
    ),
    "follower": Message(
        "profile.none_follower",
        "run {run} has no trace: only the first worker of MultiWorkerMirroredStrategy is recorded, and it wrote none",
        hint="See why the run ended: hackathon diagnose {run!q}",
    ),
    "optimizer": Message(
        "profile.none_optimizer", "run {run} made no step of a torch optimizer, so no trace was written"
    ),
    "framework": Message(
        "profile.none_framework", "run {run} did not import torch, TensorFlow or Chainer, so no trace was written"
    ),
    "tensorflow": Message(
        "profile.none_tensorflow",
        "run {run} made no step of a TensorFlow program that applies gradients, so no trace was written",
        hint="Programs that use sessions of TensorFlow 1, or change variables without an optimizer, are not seen. "
        "`tf.profiler.experimental.start(DIR)` and `stop()` record them for TensorBoard.",
    ),
    "chainer": Message(
        "profile.none_chainer",
        "run {run} made no step of a Chainer optimizer, so no trace was written",
        hint="Optimizers that are not made from `chainer.optimizer.GradientMethod` are not seen; "
        "`chainer.function_hooks.TimerHook` times functions without steps.",
    ),
    "jax": Message("profile.none_jax", "run {run} is a JAX program: torch.profiler cannot record it"),
    "mxnet": Message("profile.none_mxnet", "run {run} is an MXNet program: torch.profiler cannot record it"),
}

_OFFER_TEXTS = {
    "jax": N_("JAX has its own: `jax.profiler.trace(DIR)`, shown by Perfetto."),
    "mxnet": N_("MXNet has its own: `mxnet.profiler.set_config(…)` and `set_state('run')`."),
}

FILE = click.Path(dir_okay=False, path_type=Path)
RECORDING = ("skip", "steps", "memory", "seconds")
"""Options that control the recording."""


@named(
    "profile",
    help=_(
        "Run a program (PyTorch, TensorFlow, Chainer) for a short time, without changing it, and show where "
        "the time of a step goes on each rank: data, host, compute, communication, waiting. Also shows the "
        "operators and kernels that take the most time, gaps, memory, and the cost of the recording itself. "
        "A run that has traces is shown again; another run is run once more and recorded. It does not count "
        "as a result. After Ctrl-C the same command continues.\n"
        "\n"
        "  hackathon profile --processes 2\n"
        "  hackathon profile torch-ddp --processes 4 --html profile.html\n"
        "  hackathon profile k3m9x2qa --trace merged.json.gz\n"
        "  hackathon profile --command 'python train.py --batch-size 256'\n"
        "  hackathon profile --from traces/rank-*.json.gz"
    ),
)
@click.argument("targets", nargs=-1, metavar="[RUN|RECIPE|FOLDER]", shell_complete=completing("run"))
@click.option("--command", "words", metavar="TEXT", help=_("Profile this command instead of the project's."))
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    help=_("Read trace files of torch.profiler (.json, .json.gz) instead of running anything; one file for each rank."),
)
@job_options
@click.option("--skip", type=click.IntRange(0, 1_000_000), default=5, show_default=True, metavar="N",
              help=_("Steps to pass over before anything is measured."))  # fmt: skip
@click.option("--steps", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N",
              help=_("Steps to record."))  # fmt: skip
@click.option("--tensor-memory", "memory", is_flag=True, help=_("Also record the memory of tensors (more overhead)."))
@click.option("--seconds", type=click.IntRange(10, 36_000), default=300, show_default=True, metavar="N",
              help=_("End the run after this many seconds even if nothing was recorded."))  # fmt: skip
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help=_("Write a report page; the page in the other language is written beside it."),
)
@click.option(
    "--trace",
    type=FILE,
    metavar="FILE",
    help=_("Write the traces of all ranks as one file for ui.perfetto.dev (packed if the name ends with .gz)."),
)
@option_yes
@option_force
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    targets: tuple[str, ...],
    words: str | None,
    files: tuple[str, ...],
    options: Options,
    skip: int,
    steps: int,
    memory: bool,
    seconds: int,
    html: Path | None,
    trace: Path | None,
    yes: bool,
    force: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.cli.speed.profile_shown import show_json, show_profile, write_pages
    from hackathon.profiling.traces.merged import write_merged
    from hackathon.profiling.traces.report import read_profile
    from hackathon.rehearsal.profile_run import RecordingLimits

    run: RunDirectory | None = None
    if files:
        if words is not None:
            raise RequestError(
                "profile.from_and_command", "--from reads traces and runs nothing: it cannot be combined with --command"
            )
        if conflicts := [*_of_job(options), *typed(RECORDING)]:
            raise RequestError(
                "profile.options_with_from",
                "--from records nothing: it cannot be combined with {names}",
                names=", ".join(conflicts),
            )
        # the shell expands `--from traces/*.json` to several words
        profile = read_profile([*files, *targets])
    else:
        if len(targets) > 1:
            raise RequestError(
                "profile.one_target",
                "more than one target: {targets}",
                hint="To read trace files, write --from before them.",
                targets=" ".join(targets),
            )
        limits = RecordingLimits(skip, steps, memory, seconds)
        run = _run(targets[0] if targets else None, words, options, limits, yes, force, foreign)
        profile = _profile_of_run(run)
        _keep(run, profile)
    if as_json:
        show_json(profile, run)
    else:
        show_profile(profile, run)
    if html is not None:
        write_pages(profile, html, run)
    if trace is not None:
        count = write_merged(profile, trace)
        click.echo(_("{file}: {count} events; open it in https://ui.perfetto.dev", file=trace, count=count), err=True)


def _run(
    target: str | None,
    words: str | None,
    options: Options,
    limits: "RecordingLimits",
    yes: bool,
    force: bool,
    foreign: "Foreign",
) -> "RunDirectory":
    """Return the run whose traces are displayed: one that has some, or one that is recorded now."""
    from hackathon.cli.program_findings import refuse_errors
    from hackathon.cli.run.try_ import in_debug_queue
    from hackathon.jobs.resolve import resolve
    from hackathon.jobs.sources import find_sources
    from hackathon.profiling.traces.recording import trace_files
    from hackathon.runs.campaign import program_of

    parent = None
    earlier = None if words is not None else _earlier(target)
    if earlier is not None:
        recorded = bool(trace_files(earlier))
        if conflicts := [*_of_job(options), *(typed(RECORDING) if recorded else ())]:
            raise RequestError(
                "profile.options_with_run",
                "{names} cannot be combined with run {run}: it is shown, or recorded again, as it was",
                hint="To record a job with other options, name its recipe or its project's folder instead of a run.",
                names=", ".join(conflicts),
                run=earlier.id[-8:],
            )
        if recorded:
            return earlier
        planned, source = _again(earlier, limits, foreign)
        parent = earlier.id
    else:
        sources = find_sources(target, options, foreign=foreign)
        if words is not None:
            sources = _with_command(sources, words)
        sources = in_debug_queue(sources)
        planned = _plan(sources, limits)
        refuse_errors(sources, resolve(sources), force=force)
        source = program_of(planned)
    return _recorded(planned, source, limits, yes, parent)


def _earlier(target: str | None) -> "RunDirectory | None":
    """Return the run that a target names; None for a folder, a recipe, or another word."""
    from hackathon.cli.options import runs_folder
    from hackathon.config.load import PROJECT_FILE, RECIPE_FILE
    from hackathon.runs.directory import find_run, list_ids

    if target is None or any((Path(target) / name).is_file() for name in (PROJECT_FILE, RECIPE_FILE)):
        return None
    folder = runs_folder()
    if "/" not in target and not any(target in run for run in list_ids(folder)):
        return None
    if "/" not in target and _is_recipe(target):
        return None
    return find_run(target, folder)


def _of_job(options: Options) -> list[str]:
    """Return the job options that were set; they are refused, because an existing run's job does not change."""
    names = [field.name for field in fields(Options) if getattr(options, field.name) != getattr(Options(), field.name)]
    return ["-p" if name == "parameters" else "--" + name.replace("_", "-") for name in names]


def _is_recipe(name: str) -> bool:
    from hackathon.config import load
    from hackathon.config.trust import folders_that_count

    try:
        load.load_recipe(name, folders_that_count(Path.cwd()))
    except RequestError:
        return False
    return True


def _with_command(sources: "Sources", words: str) -> "Sources":
    """Return the sources with another command in place of the project's.

    Raises RequestError, because a recipe has none.
    """
    if sources.project is None:
        raise RequestError(
            "profile.command_of_recipe",
            "--command replaces the command of a project, and the target is a recipe",
            hint="Create a project for your program with `hackathon init`.",
        )
    project = replace(sources.project, command=words, recipe=None)
    return replace(sources, project=project, recipe=None, folder=sources.runs.parent)


def _plan(sources: "Sources", limits: "RecordingLimits") -> "Plan":
    from hackathon.jobs.resolve import resolve
    from hackathon.rehearsal.profile_run import recorded, unseen
    from hackathon.runs.campaign import plan

    framework = unseen(sources)
    if framework:
        raise RequestError(
            "profile.not_torch",
            "{framework} programs are not recorded: only those of torch, TensorFlow and Chainer are",
            hint="{offer}",
            framework=framework,
            offer=_(_OFFER_TEXTS[framework]),
        )
    request = resolve(sources)
    queue = sources.cluster.queues.get(request.queue or "")
    return plan(sources, [recorded(request, limits, queue.longest(request.nodes) if queue is not None else None)])


def _again(run: "RunDirectory", limits: "RecordingLimits", foreign: "Foreign") -> "tuple[Plan, Source]":
    """Return the plan that repeats a run's job with recording, and the run's program."""
    from hackathon.jobs.places import admit_again
    from hackathon.jobs.sources import find_sources
    from hackathon.rehearsal.profile_run import recorded, unseen
    from hackathon.runs.campaign import plan
    from hackathon.runs.rerun import source_of

    project = run.path.parent.parent
    admit_again(run.path, project, foreign)
    request = run.request()
    target = None if (project / "project.yaml").is_file() else request.recipe
    sources = find_sources(target, Options(cluster=request.cluster), project, foreign=foreign)
    if framework := unseen(sources):
        raise RequestError(
            "profile.not_torch",
            "{framework} programs are not recorded: only those of torch, TensorFlow and Chainer are",
            hint="{offer}",
            framework=framework,
            offer=_(_OFFER_TEXTS[framework]),
        )
    queue = sources.cluster.queues.get(request.queue or "")
    again = recorded(request, limits, queue.longest(request.nodes) if queue is not None else None)
    return plan(sources, [again]), source_of(run, sources.runs)


def _recorded(
    planned: "Plan", source: "Source", limits: "RecordingLimits", yes: bool, parent: str | None
) -> "RunDirectory":
    """Return the run of a profile when it has ended: submitted now, or by an interrupted call.

    `parent`: the run that it repeats.
    """
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import confirm, show_outcomes
    from hackathon.rehearsal.profile_run import TAGS, recorder_files, unfinished_profile
    from hackathon.rehearsal.rehearsal import note_told
    from hackathon.runs.campaign import start

    unfinished = list(unfinished_profile(planned, source).values())
    if unfinished:
        run = unfinished[0]
        click.echo(_("continuing with run {run} of an interrupted `hackathon profile`", run=run.id), err=True)
    else:
        confirm(
            planned,
            yes,
            ngettext(
                "Submit {count} short job?", "Submit {count} short jobs?", len(planned.jobs), count=len(planned.jobs)
            ),
        )
        outcomes = start(planned, tags=TAGS, source=source, files=recorder_files(), parent=parent)
        show_outcomes(outcomes, 1)
        run = outcomes[0].run
    click.echo(
        ngettext(
            "the run ends once {steps} step is recorded; Ctrl-C stops waiting, the same command continues",
            "the run ends once {steps} steps are recorded; Ctrl-C stops waiting, the same command continues",
            limits.steps,
            steps=limits.steps,
        ),
        err=True,
    )
    wait([run], lambda states, watched: _ended(states, watched, limits))
    note_told([run])
    return run


def _ended(states: "list[RunStatus]", runs: "list[RunDirectory]", limits: "RecordingLimits") -> bool:
    """End the run once its steps are recorded; there is never more to submit."""
    from hackathon.rehearsal.profile_run import is_recorded
    from hackathon.rehearsal.rehearsal import FACT, note_end
    from hackathon.runs.cancel import cancel

    for run, state in zip(runs, states, strict=False):
        if state.state == "RUNNING" and not run.client(FACT).get("ended"):
            why = is_recorded(run, limits)
            if why:
                note_end(run, why)
                cancel(run, sure=True)
    return False


def _keep(run: "RunDirectory", profile: "Profile") -> None:
    """Store a profile with its run, for pages; not in another account's run."""
    import os

    from hackathon.profiling.traces.stored import FACT, stored

    try:
        if run.path.stat().st_uid == os.geteuid():
            run.write_client(FACT, stored(profile))
    except OSError as error:
        click.echo(
            _(
                "the profile could not be kept with run {run}, so pages do not show it: {what}",
                run=run.id[-8:],
                what=error.strerror or error,
            ),
            err=True,
        )


def _declared_peaks(run: "RunDirectory") -> "Peaks | None":
    """Return the peaks of a GPU in the profile of the run's cluster; None without such a profile."""
    from hackathon.config.trust import folders_that_count
    from hackathon.profiling.traces.roofline import Peak, Peaks
    from hackathon.schedulers.registry import load_cluster

    try:
        cluster = load_cluster(run.known().cluster, folders_that_count(run.path, run.path))
    except (HackathonError, OSError):
        return None
    flops = {kind: Peak(value * 1e12, cluster.name) for kind, value in cluster.peak_tflops.items()}
    memory = Peak(cluster.memory_gb_s * 1e9, cluster.name) if cluster.memory_gb_s is not None else None
    return Peaks(flops, memory)


def _profile_of_run(run: "RunDirectory") -> "Profile":
    """Return the profile of a run's traces. Raises HackathonError with the reason if there is none."""
    from hackathon.cli.shown import show_tail
    from hackathon.profiling.traces.recording import missing, recordings, trace_files
    from hackathon.profiling.traces.report import read_profile
    from hackathon.text.printable import printable

    files = trace_files(run)
    if files:
        return read_profile(list(files.values()), recordings(run), _declared_peaks(run), missing(run))
    show_tail(run.path)
    for why in sorted(missing(run), key=lambda entry: entry.reason == "follower"):
        text = printable(why.text)
        raise HackathonError(_NONE_TEXTS[why.reason], run=run.id[-8:], steps=why.steps, needed=why.needed, text=text)
    raise HackathonError(
        "profile.none",
        "run {run} has no trace",
        hint="The recorder waits for `torch.optim`, TensorFlow or Chainer. Programs started with `python -E`, `-I` "
        "or `-S`, or in a container without the run's folder, do not load it. See why the run ended: hackathon "
        "diagnose {run!q}",
        run=run.id[-8:],
    )
