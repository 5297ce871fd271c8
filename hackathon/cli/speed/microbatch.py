"""`hackathon microbatch`: measure the fastest micro-batches with which a batch fits into memory."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import MemorySize, Size, completing, job_options, named, option_trust
from hackathon.cli.speed.measuring import apply_settings, measured
from hackathon.jobs.request import Options
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.microbatch.search import BatchSplit, SplitProbe

_HEAD_TEXTS = {
    "parts": N_("micro-batches"),
    "size": N_("samples"),
    "what": N_("start"),
    "result": N_("result"),
    "memory": N_("peak memory"),
    "speed": N_("speed"),
}


@named(
    "microbatch",
    help=_(
        "Find the fastest micro-batches with which the program's batch fits into a limit of memory. The "
        "gradients are those of the whole batch. The program needs three lines, which the command shows; the "
        "recipes torch-ddp and torch-ddp-tuned have them. Starts in fresh processes measure what a sample "
        "needs, a longer start confirms the plan, and further starts compare its speed to that of more, "
        "smaller parts. After Ctrl-C the same command continues.\n"
        "\n"
        "  hackathon microbatch --copy\n"
        "  hackathon microbatch --memory 8GB --apply\n"
        "  hackathon microbatch torch-ddp -p batch_size=1024 --memory 4GB"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--memory",
    type=MemorySize(),
    metavar="SIZE",
    help=_(
        "Limit of the address space of each start, e.g. 8GB; needed without a GPU. With a GPU, its memory is the limit."
    ),
)
@click.option("--seconds", type=click.IntRange(1, 3600), default=10, show_default=True, metavar="N",
              help=_("Seconds of training in each start, counted from its first output."))  # fmt: skip
@click.option("--fewest", is_flag=True, help=_("Take the fewest micro-batches that fit, and compare no speeds."))
@click.option("--layers", is_flag=True, help=_("Find convolutions that are faster in parts of their batch instead."))
@click.option(
    "--workspace", type=Size(), metavar="SIZE", help=_("With --layers: limit of a convolution's workspace, e.g. 512MB.")
)
@click.option("--shared", is_flag=True, help=_("With --layers: all convolutions share the limit."))
@click.option(
    "--copy",
    "copy_it",
    is_flag=True,
    help=_("Write micro_batches.py into the project, show the lines that use it, and measure nothing."),
)
@click.option(
    "--apply",
    "apply_it",
    is_flag=True,
    help=_("Write the number of micro-batches into project.yaml, after showing the change."),
)
@click.option("--again", is_flag=True, help=_("Measure again although the same was measured within a day."))
@click.option("-y", "--yes", is_flag=True, help=_("Submit, and write project.yaml, without asking."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    target: str | None,
    options: Options,
    memory: int | None,
    seconds: int,
    fewest: bool,
    layers: bool,
    workspace: int | None,
    shared: bool,
    copy_it: bool,
    apply_it: bool,
    again: bool,
    yes: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.jobs.sources import find_sources
    from hackathon.text.errors import RequestError
    from hackathon.tuning.measurement import SingleProcess
    from hackathon.tuning.microbatch.search import place_wrapper, read_split, split_measurement, starts

    if (workspace is not None or shared) and not layers:
        raise RequestError("microbatch.layers_alone", "--workspace and --shared need --layers")
    if shared and workspace is None:
        raise RequestError("microbatch.shared_of_what", "--shared needs --workspace")
    program = SingleProcess(find_sources(target, options, foreign=foreign))
    if copy_it:
        if program.sources.project is None or program.sources.recipe is not None:
            raise RequestError(
                "microbatch.copy_needs_project",
                "--copy writes into a project with its own program",
                hint="The recipes torch-ddp and torch-ddp-tuned have the file already.",
            )
        for path in place_wrapper(program.sources.folder):
            click.echo(_("{path} is in place", path=path), err=True)
        _show_lines()
        return
    if layers:
        from hackathon.cli.speed.layer_splits import measure_layers

        applied = measure_layers(program, workspace, shared, seconds, again, yes, as_json)
        if apply_it:
            apply_settings(program, applied, yes)
        return
    measurement = split_measurement(program, memory, seconds, fewest)
    run = measured(
        measurement,
        again,
        yes,
        starts(fewest),
        question=N_("Submit a job that starts the program about {starts} times (at most {minutes} min)?"),
    )
    batch_split = read_split(run)
    if batch_split is None:
        raise RequestError(
            "largest_batch.not_finished",
            "the walltime ended the search",
            hint="Give it more time: --walltime; or shorter starts: --seconds",
            run=run.id[-8:],
        )
    run.write_client("microbatch", batch_split.as_json())
    if as_json:
        echo_json({**batch_split.as_json(), "run": run.id})
    else:
        _show(run, batch_split, fewest)
    if batch_split.parts is None:
        raise click.exceptions.Exit(1)
    if apply_it:
        apply_settings(program, batch_split.settings, yes)


def _show_lines() -> None:
    from hackathon.tuning.microbatch.search import LINES

    click.echo(_("Use these lines; `hackathon microbatch --copy` writes micro_batches.py into the project:"))
    for line in LINES:
        click.echo(f"    {line}")


def _show(run: "RunDirectory", batch_split: "BatchSplit", fewest: bool) -> None:
    """Print the starts, the split, the plan and the measurements."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.scaling.show import number
    from hackathon.text.units import format_size
    from hackathon.tuning.sentences import PROBE_KIND_TEXTS

    def memory(size: int | None) -> str:
        return format_size(size) if size is not None else _("not known")

    names = ("parts", "size", "what", "result", "memory", "speed")
    heads = [_(_HEAD_TEXTS[name]) for name in names]
    rows = [
        [
            str(probe.parts), str(probe.size or "–"), _(PROBE_KIND_TEXTS[probe.kind]), _ended(probe),
            memory(probe.memory), f"{number(probe.value)} {printable(batch_split.unit)}".rstrip(),
        ]
        for probe in batch_split.probes if probe.kind != "speed"
    ]  # fmt: skip
    rows += [
        [
            str(split.parts), str(split.size or "–"), _("speed, median of {count}", count=len(split.rates)),
            _("fits"), memory(split.memory),
            f"{number(split.rate)} {printable(batch_split.unit)}".rstrip(),
        ]
        for split in batch_split.speeds
    ]  # fmt: skip
    echo_table(heads, rows)
    click.echo()
    if batch_split.limit is not None:
        click.echo(_("limit: {size}", size=format_size(batch_split.limit)))
    broken = batch_split.other_failure
    if broken is not None:
        log = f"runs/{run.id}/{broken.folder}/logs/rank-0.log"
        click.echo(
            _("the start with {parts} micro-batches failed for another reason: {log}", parts=broken.parts, log=log)
        )
    elif not batch_split.uses_wrapper and any(probe.fits for probe in batch_split.probes):
        click.echo(
            _("the program does not compute its batches with MicroBatches, so they cannot be divided from outside")
        )
        _show_lines()
    elif batch_split.parts is None:
        click.echo(_("even micro-batches of one sample do not fit into memory"))
    if batch_split.parts is None:
        return
    if batch_split.parts == 1:
        click.echo(_("the whole batch of {batch} fits: no micro-batches are needed", batch=batch_split.batch))
    else:
        sizes = printable("+".join(map(str, batch_split.sizes)))
        click.echo(
            _(
                "use {parts} micro-batches for the batch of {batch}: {sizes}",
                batch=batch_split.batch,
                parts=batch_split.parts,
                sizes=sizes,
            )
        )
    if not fewest and batch_split.fewest != batch_split.batch:  # otherwise there is no smaller part
        click.echo(_compared(batch_split))
    if batch_split.planned is not None and batch_split.measured:
        percent = f"{100 * (batch_split.measured - batch_split.planned) / batch_split.planned:+.1f}"
        sizes_of_memory = {"planned": memory(batch_split.planned), "measured": memory(batch_split.measured)}
        click.echo(
            _(
                "peak memory with {parts} micro-batches: planned {planned}, measured {measured} ({percent} %)",
                parts=batch_split.fewest,
                percent=percent,
                **sizes_of_memory,
            )
        )
    if batch_split.batch_normalisation:
        names_of = printable(", ".join(batch_split.batch_normalisation[:8]))
        click.echo(
            _(
                "batch normalisation sees a micro-batch and not the batch, so the gradient is not the same: {names}",
                names=names_of,
            )
        )
    for name, value in batch_split.settings.items():
        click.echo(
            _(
                "set it under `variables:` in project.yaml (--apply writes it): {setting}",
                setting=f"{name.removeprefix('env.')}={value}",
            )
        )


def _compared(batch_split: "BatchSplit") -> str:
    """Return how the speed of the split compares with that of the fewest micro-batches."""
    rates = {split.parts: split.rate for split in batch_split.speeds}
    if batch_split.parts not in rates or batch_split.fewest not in rates:
        return _("speeds were not compared: the program printed no throughput, or the walltime was over")
    if batch_split.parts == batch_split.fewest:
        return _("more micro-batches are not faster outside the noise")
    ratio = f"{rates[batch_split.parts] / rates[batch_split.fewest]:.2f}"
    return _(
        "{parts} micro-batches are {ratio} times as fast as {fewest}, the fewest that fit",
        parts=batch_split.parts,
        ratio=ratio,
        fewest=batch_split.fewest,
    )


def _ended(probe: "SplitProbe") -> str:
    if probe.fits:
        return _("fits")
    return _("out of memory") if probe.out_of_memory else _("failed for another reason")
