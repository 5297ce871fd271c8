"""`hackathon microbatch`: the fastest micro-batches with which a batch fits into memory, measured."""

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


@named("microbatch")
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
    found = read_split(run)
    if found is None:
        raise RequestError("largest_batch.not_finished", run=run.id[-8:])
    run.write_client("microbatch", found.as_json())
    if as_json:
        echo_json({**found.as_json(), "run": run.id})
    else:
        _show(run, found, fewest)
    if found.parts is None:
        raise click.exceptions.Exit(1)
    if apply_it:
        apply_settings(program, found.settings, yes)


def _show_lines() -> None:
    from hackathon.tuning.microbatch.search import LINES

    click.echo(message("microbatch.lines"))
    for line in LINES:
        click.echo(f"    {line}")


def _show(run: "RunDirectory", found: "BatchSplit", fewest: bool) -> None:
    """Print the starts, the split, what was planned and what was measured."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.scaling.show import number
    from hackathon.text.units import format_size

    def memory(size: int | None) -> str:
        return format_size(size) if size is not None else message("speedup.unknown")

    names = ("parts", "size", "what", "result", "memory", "speed")
    heads = [message(f"microbatch.head_{name}") for name in names]
    rows = [
        [
            str(each.parts), str(each.size or "–"), message(f"largest_batch.kind_{each.kind}"), _ended(each),
            memory(each.memory), f"{number(each.value)} {printable(found.unit)}".rstrip(),
        ]
        for each in found.probes if each.kind != "speed"
    ]  # fmt: skip
    rows += [
        [
            str(split.parts), str(split.size or "–"), message("microbatch.rounds", count=len(split.rates)),
            message("largest_batch.fits"), memory(split.memory),
            f"{number(split.rate)} {printable(found.unit)}".rstrip(),
        ]
        for split in found.speeds
    ]  # fmt: skip
    echo_table(heads, rows)
    click.echo()
    if found.limit is not None:
        click.echo(message("largest_batch.limit", size=format_size(found.limit)))
    broken = found.other_failure
    if broken is not None:
        log = f"runs/{run.id}/{broken.folder}/logs/rank-0.log"
        click.echo(message("microbatch.other_failure", parts=broken.parts, log=log))
    elif not found.uses_wrapper and any(each.fits for each in found.probes):
        click.echo(message("microbatch.no_wrapper"))
        _show_lines()
    elif found.parts is None:
        click.echo(message("microbatch.none_fits"))
    if found.parts is None:
        return
    if found.parts == 1:
        click.echo(message("microbatch.whole", batch=found.batch))
    else:
        sizes = printable("+".join(map(str, found.sizes)))
        click.echo(message("microbatch.split", batch=found.batch, parts=found.parts, sizes=sizes))
    if not fewest and found.fewest != found.batch:  # else there is no smaller part
        click.echo(_compared(found))
    if found.planned is not None and found.measured:
        percent = f"{100 * (found.measured - found.planned) / found.planned:+.1f}"
        sizes_of_memory = {"planned": memory(found.planned), "measured": memory(found.measured)}
        click.echo(message("microbatch.memory", parts=found.fewest, percent=percent, **sizes_of_memory))
    if found.batch_normalisation:
        names_of = printable(", ".join(found.batch_normalisation[:8]))
        click.echo(message("microbatch.batch_normalisation", names=names_of))
    for name, value in found.settings.items():
        click.echo(message("microbatch.use", setting=f"{name.removeprefix('env.')}={value}"))


def _compared(found: "BatchSplit") -> str:
    """Return how the speed of the split to use compares with that of the fewest micro-batches."""
    rates = {split.parts: split.rate for split in found.speeds}
    if found.parts not in rates or found.fewest not in rates:
        return message("microbatch.no_speed")
    if found.parts == found.fewest:
        return message("microbatch.none_faster")
    ratio = f"{rates[found.parts] / rates[found.fewest]:.2f}"
    return message("microbatch.faster", parts=found.parts, ratio=ratio, fewest=found.fewest)


def _ended(probe: "SplitProbe") -> str:
    if probe.fits:
        return message("largest_batch.fits")
    return message("largest_batch.out_of_memory" if probe.out_of_memory else "largest_batch.failed")
