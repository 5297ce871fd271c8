"""`hackathon microbatch`: measure the fastest micro-batches with which a batch fits into memory."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import MemorySize, Size, job_options, named, option_trust
from hackathon.cli.speed.measuring import apply_settings, measured
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.microbatch.search import BatchSplit, SplitProbe

_HEAD_TEXTS = {
    "parts": "microbatch.head_parts",
    "size": "microbatch.head_size",
    "what": "microbatch.head_what",
    "result": "microbatch.head_result",
    "memory": "microbatch.head_memory",
    "speed": "microbatch.head_speed",
}

_KIND_TEXTS = {
    "search": "largest_batch.kind_search",
    "confirm": "largest_batch.kind_confirm",
    "bf16": "largest_batch.kind_bf16",
    "recompute": "largest_batch.kind_recompute",
    "checkpointing": "largest_batch.kind_checkpointing",
    "accumulate": "largest_batch.kind_accumulate",
}


@named("microbatch", help=message("help.microbatch_help"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--memory", type=MemorySize(), metavar="SIZE", help=message("microbatch.option_memory"))
@click.option("--seconds", type=click.IntRange(1, 3600), default=10, show_default=True, metavar="N",
              help=message("speedup.option_seconds"))  # fmt: skip
@click.option("--fewest", is_flag=True, help=message("microbatch.option_fewest"))
@click.option("--layers", is_flag=True, help=message("microbatch.option_layers"))
@click.option("--workspace", type=Size(), metavar="SIZE", help=message("microbatch.option_workspace"))
@click.option("--shared", is_flag=True, help=message("microbatch.option_shared"))
@click.option("--copy", "copy_it", is_flag=True, help=message("microbatch.option_copy"))
@click.option("--apply", "apply_it", is_flag=True, help=message("microbatch.option_apply"))
@click.option("--again", is_flag=True, help=message("speedup.option_again"))
@click.option("-y", "--yes", is_flag=True, help=message("speedup.option_yes"))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
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
        raise RequestError("microbatch.layers_alone")
    if shared and workspace is None:
        raise RequestError("microbatch.shared_of_what")
    program = SingleProcess(find_sources(target, options, foreign=foreign))
    if copy_it:
        if program.sources.project is None or program.sources.recipe is not None:
            raise RequestError("microbatch.copy_needs_project")
        for path in place_wrapper(program.sources.folder):
            click.echo(message("microbatch.copied", path=path), err=True)
        _show_lines()
        return
    if layers:
        from hackathon.cli.speed.layer_splits import measure_layers

        applied = measure_layers(program, workspace, shared, seconds, again, yes, as_json)
        if apply_it:
            apply_settings(program, applied, yes)
        return
    measurement = split_measurement(program, memory, seconds, fewest)
    run = measured(measurement, again, yes, starts(fewest), question="microbatch.confirm")
    batch_split = read_split(run)
    if batch_split is None:
        raise RequestError("largest_batch.not_finished", run=run.id[-8:])
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

    click.echo(message("microbatch.lines"))
    for line in LINES:
        click.echo(f"    {line}")


def _show(run: "RunDirectory", batch_split: "BatchSplit", fewest: bool) -> None:
    """Print the starts, the split, the plan and the measurements."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.scaling.show import number
    from hackathon.text.units import format_size

    def memory(size: int | None) -> str:
        return format_size(size) if size is not None else message("speedup.unknown")

    names = ("parts", "size", "what", "result", "memory", "speed")
    heads = [message(_HEAD_TEXTS[name]) for name in names]
    rows = [
        [
            str(probe.parts), str(probe.size or "–"), message(_KIND_TEXTS[probe.kind]), _ended(probe),
            memory(probe.memory), f"{number(probe.value)} {printable(batch_split.unit)}".rstrip(),
        ]
        for probe in batch_split.probes if probe.kind != "speed"
    ]  # fmt: skip
    rows += [
        [
            str(split.parts), str(split.size or "–"), message("microbatch.rounds", count=len(split.rates)),
            message("largest_batch.fits"), memory(split.memory),
            f"{number(split.rate)} {printable(batch_split.unit)}".rstrip(),
        ]
        for split in batch_split.speeds
    ]  # fmt: skip
    echo_table(heads, rows)
    click.echo()
    if batch_split.limit is not None:
        click.echo(message("largest_batch.limit", size=format_size(batch_split.limit)))
    broken = batch_split.other_failure
    if broken is not None:
        log = f"runs/{run.id}/{broken.folder}/logs/rank-0.log"
        click.echo(message("microbatch.other_failure", parts=broken.parts, log=log))
    elif not batch_split.uses_wrapper and any(probe.fits for probe in batch_split.probes):
        click.echo(message("microbatch.no_wrapper"))
        _show_lines()
    elif batch_split.parts is None:
        click.echo(message("microbatch.none_fits"))
    if batch_split.parts is None:
        return
    if batch_split.parts == 1:
        click.echo(message("microbatch.whole", batch=batch_split.batch))
    else:
        sizes = printable("+".join(map(str, batch_split.sizes)))
        click.echo(message("microbatch.split", batch=batch_split.batch, parts=batch_split.parts, sizes=sizes))
    if not fewest and batch_split.fewest != batch_split.batch:  # otherwise there is no smaller part
        click.echo(_compared(batch_split))
    if batch_split.planned is not None and batch_split.measured:
        percent = f"{100 * (batch_split.measured - batch_split.planned) / batch_split.planned:+.1f}"
        sizes_of_memory = {"planned": memory(batch_split.planned), "measured": memory(batch_split.measured)}
        click.echo(message("microbatch.memory", parts=batch_split.fewest, percent=percent, **sizes_of_memory))
    if batch_split.batch_normalisation:
        names_of = printable(", ".join(batch_split.batch_normalisation[:8]))
        click.echo(message("microbatch.batch_normalisation", names=names_of))
    for name, value in batch_split.settings.items():
        click.echo(message("microbatch.use", setting=f"{name.removeprefix('env.')}={value}"))


def _compared(batch_split: "BatchSplit") -> str:
    """Return how the speed of the split compares with that of the fewest micro-batches."""
    rates = {split.parts: split.rate for split in batch_split.speeds}
    if batch_split.parts not in rates or batch_split.fewest not in rates:
        return message("microbatch.no_speed")
    if batch_split.parts == batch_split.fewest:
        return message("microbatch.none_faster")
    ratio = f"{rates[batch_split.parts] / rates[batch_split.fewest]:.2f}"
    return message("microbatch.faster", parts=batch_split.parts, ratio=ratio, fewest=batch_split.fewest)


def _ended(probe: "SplitProbe") -> str:
    if probe.fits:
        return message("largest_batch.fits")
    return message("largest_batch.out_of_memory" if probe.out_of_memory else "largest_batch.failed")
