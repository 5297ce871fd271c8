"""`hackathon speedup`: measure which options speed the program up on one device, or the largest batch that fits."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import MemorySize, completing, job_options, named, option_trust
from hackathon.cli.speed.measuring import apply_settings, measured, no_value
from hackathon.jobs.request import Options
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.batches import LargestBatch
    from hackathon.tuning.measurement import SingleProcess
    from hackathon.tuning.result import SpeedupResult


@named(
    "speedup",
    help=_(
        "Measure, on one process, what makes the program faster: each known option alone against the "
        "unchanged program, in rounds with a random order, then the best ones together. For a recipe, options are "
        "its parameters; for your own program, parameters that you declared and environment variables. Options "
        "that need lines in the program are listed with these lines. A claim is made only outside the noise, "
        "and the loss is compared over the same steps. Also as `tune-up`. After Ctrl-C the same command "
        "continues.\n"
        "\n"
        "  hackathon speedup\n"
        "  hackathon speedup torch-ddp-tuned --try workers=2,4 --try amp=bf16\n"
        "  hackathon speedup --apply\n"
        "  hackathon speedup --largest-batch --memory 8GB"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=VALUE,…",
    help=_("Measure these values instead of the known options: a declared parameter or env.VARIABLE; repeatable."),
)
@click.option("--seconds", type=click.IntRange(1, 3600), default=15, show_default=True, metavar="N",
              help=_("Seconds of training in each start, counted from its first output."))  # fmt: skip
@click.option(
    "--rounds",
    type=click.IntRange(2, 100),
    metavar="N",
    help=_("Starts of each option; default: as few as a claim needs."),
)
@click.option(
    "--largest-batch", is_flag=True, help=_("Find the largest batch per process that fits into memory instead.")
)
@click.option(
    "--memory",
    type=MemorySize(),
    metavar="SIZE",
    help=_("With --largest-batch: limit of the address space of each start, e.g. 8GB; needed without a GPU."),
)
@click.option(
    "--apply",
    "apply_it",
    is_flag=True,
    help=_("Write the settings that won into project.yaml, after showing the change."),
)
@click.option("--again", is_flag=True, help=_("Measure again although the same was measured within a day."))
@click.option("-y", "--yes", is_flag=True, help=_("Submit, and write project.yaml, without asking."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    target: str | None,
    options: Options,
    tried: tuple[str, ...],
    seconds: int,
    rounds: int | None,
    largest_batch: bool,
    memory: int | None,
    apply_it: bool,
    again: bool,
    yes: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.jobs.sources import find_sources
    from hackathon.text.errors import RequestError
    from hackathon.tuning.measurement import SingleProcess

    if largest_batch and (tried or rounds or apply_it):
        raise RequestError("largest_batch.alone", "--largest-batch goes without --try, --rounds, and --apply")
    if memory is not None and not largest_batch:
        raise RequestError("largest_batch.memory_alone", "--memory needs --largest-batch")
    program = SingleProcess(find_sources(target, options, foreign=foreign))
    if largest_batch:
        _largest(program, memory, seconds, again, yes, as_json)
        return
    result = _compared(program, tried, seconds, rounds, again, yes)
    if as_json:
        echo_json(result.as_json())
    else:
        _show_table(result)
    if apply_it:
        apply_settings(program, result.applied, yes)


def _compared(
    program: "SingleProcess", tried: tuple[str, ...], seconds: int, rounds: int | None, again: bool, yes: bool
) -> "SpeedupResult":
    """Return the table of the options and of the best ones together. Raises RequestError if nothing is measured."""
    from hackathon.text.errors import RequestError
    from hackathon.tuning.intervals import pairs_needed
    from hackathon.tuning.options import Option, asked_for, options_for
    from hackathon.tuning.result import FACT, SpeedupResult, together
    from hackathon.tuning.slots import read_slots
    from hackathon.tuning.verdict import compare, winners

    request = program.request
    available, left = options_for(program.sources, request)
    chosen = asked_for(tried, program.sources) if tried else available
    if not chosen:
        raise RequestError(
            "speedup.nothing_to_try",
            "the program has none of the known options",
            hint="Name a declared parameter: --try NAME=VALUE,VALUE",
        )
    claims = len(chosen) + 1  # the best ones together are one more row that could win by chance
    count = rounds or pairs_needed(claims)
    run = measured(program.comparison(chosen, count, seconds), again, yes, count * (1 + len(chosen)))
    compared = compare(read_slots(run), chosen, claims)
    if compared.value is None:
        raise no_value(run, compared.failed, compared.metric or request.metric)
    best = winners(compared.rows)
    both, second = None, None
    if len(best) > 1:
        option: Option = together(best)
        click.echo(_("several options win: measuring them together ({names})", names=option.name), err=True)
        # the first job's confirmation included its cost
        second = measured(program.comparison([option], count, seconds), again, True, 2 * count, run.id)
        both = compare(read_slots(second), [option], claims)
    result = SpeedupResult(run.id, second.id if second else None, compared, both, tuple(left))
    run.write_client(FACT, result.as_json())
    return result


def _largest(program: "SingleProcess", memory: int | None, seconds: int, again: bool, yes: bool, as_json: bool) -> None:
    from hackathon.text.errors import RequestError
    from hackathon.tuning.batches import FACT, STARTS, batch_measurement, read_largest

    run = measured(batch_measurement(program, memory, seconds), again, yes, STARTS)
    batch = read_largest(run, program)
    if batch is None:
        raise RequestError(
            "largest_batch.not_finished",
            "the walltime ended the search",
            hint="Give it more time: --walltime; or shorter starts: --seconds",
            run=run.id[-8:],
        )
    run.write_client(FACT, batch.as_json())
    if as_json:
        echo_json({**batch.as_json(), "run": run.id})
    else:
        _show_largest(run, batch)
    if batch.largest is None:
        raise click.exceptions.Exit(1)


def _show_table(result: "SpeedupResult") -> None:
    """Print the table, how to use it, and which options were not measured."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.tuning.sentences import baseline_sentences, option_cells, option_heads, result_sentences, untried

    for line in baseline_sentences(result):
        click.echo(line)
    rows = [*result.compared.rows, *([result.together] if result.together is not None else [])]
    click.echo()
    echo_table(option_heads(), [option_cells(row) for row in rows])
    click.echo()
    for line in result_sentences(result):
        click.echo(printable(line))
    remarks, needed = untried(result)
    for line in remarks:
        click.echo(line)
    for sentence, lines in needed:
        click.echo(sentence)
        for line in lines.split("\n"):
            click.echo(f"    {line}")


def _show_largest(run: "RunDirectory", batch: "LargestBatch") -> None:
    """Print the starts, the largest batch, the recommended one, and options that reduce memory."""
    from hackathon.cli.show import echo_table
    from hackathon.tuning.sentences import largest_sentences, probe_cells, probe_heads

    echo_table(probe_heads(), [probe_cells(probe) for probe in batch.probes])
    click.echo()
    for line in largest_sentences(batch, run.id):
        click.echo(line)
