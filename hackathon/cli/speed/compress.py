"""`hackathon compress`: find out which precision of communication pays, compared with uncompressed trainings."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, job_options, named, option_trust
from hackathon.cli.speed.measuring import apply_settings, measured, no_value
from hackathon.jobs.request import Options
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.tuning.compress.verdict import HookRow, HookTable

_VERDICT_TEXTS = {
    "pays": N_("pays: faster, metric kept"),
    "accuracy": N_("makes the metric worse"),
    "unclear": N_("faster, but the metric is not clearly kept"),
    "slower": N_("slower"),
    "none": N_("within the noise"),
    "few": N_("too few seeds for a claim"),
    "failed": N_("failed"),
}

_HEAD_TEXTS = {
    "hook": N_("hook"),
    "sent": N_("sent in a step"),
    "speed": N_("speed"),
    "interval": N_("interval"),
    "difference": N_("metric (+ is better)"),
    "verdict": N_("verdict"),
}


@named(
    "compress",
    help=_(
        "Measure which compression of gradients pays with your processes: each hook of the program beside the "
        "uncompressed training, several times, each time with another seed and in a random order, in one job. "
        "The table shows what a process sends in a step, the speed, and the difference of the final metric. A "
        "hook pays only if it is faster outside the noise and the metric falls by at most what another seed "
        "changes. After Ctrl-C the same command continues.\n"
        "\n"
        "  hackathon compress torch-ddp --processes 4 --hooks fp16,topk\n"
        "  hackathon compress --processes 8 --seconds 300 --apply"
    ),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]", shell_complete=completing("recipe"))
@job_options
@click.option(
    "--hooks", default="", metavar="NAME,…", help=_("Hooks to measure; default: all that the program declares.")
)
@click.option(
    "--seeds",
    type=click.IntRange(5, 100),
    metavar="N",
    help=_("Trainings of each hook, each with its own seed; default: as few as a claim needs."),
)
@click.option("--seconds", type=click.IntRange(1, 86_400), default=60, show_default=True, metavar="N",
              help=_("The most seconds that one training may take; a longer one counts as failed."))  # fmt: skip
@click.option(
    "--apply", "apply_it", is_flag=True, help=_("Write the hook that pays into project.yaml, after showing the change.")
)
@click.option("--again", is_flag=True, help=_("Measure again although the same was measured within a day."))
@click.option("-y", "--yes", is_flag=True, help=_("Submit, and write project.yaml, without asking."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    target: str | None,
    options: Options,
    hooks: str,
    seeds: int | None,
    seconds: int,
    apply_it: bool,
    again: bool,
    yes: bool,
    foreign: "Foreign",
    as_json: bool,
) -> None:
    from hackathon.jobs.sources import find_sources
    from hackathon.tuning.compress.measurement import ProcessGroup, hook_measurement, hooks_of, seeds_needed
    from hackathon.tuning.compress.verdict import final_metric, judge
    from hackathon.tuning.slots import read_slots

    program = ProcessGroup(find_sources(target, options, foreign=foreign))
    names = [name.strip() for name in hooks.split(",") if name.strip()]
    plain, chosen = hooks_of(program, names)
    count = seeds or seeds_needed(len(chosen))
    measurement = hook_measurement(program, plain, chosen, count, seconds)
    run = measured(
        measurement,
        again,
        yes,
        count * (1 + len(chosen)),
        question=N_("Submit a job that trains {starts} times (at most {minutes} min)?"),
    )
    slots = read_slots(run)
    metric, more_is_better = final_metric(slots, program.request.check)
    table = judge(slots, chosen, metric, more_is_better)
    if table.compared.value is None:
        raise no_value(run, table.compared.failed, table.compared.metric or program.request.metric)
    answer = {**table.as_json(), "run": run.id, "processes": program.request.processes}
    run.write_client("compress", answer)
    if as_json:
        echo_json(answer)
    else:
        _show(table, run.id, program.request.processes)
    if apply_it:
        apply_settings(program, table.applied, yes)


def _show(table: "HookTable", run: str, processes: int) -> None:
    """Print the table and how to use it."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.jobs.settings import settings_text
    from hackathon.scaling.show import number
    from hackathon.tuning.intervals import FALSE_CLAIMS

    compared = table.compared
    click.echo(
        _(
            "uncompressed, {processes} processes: {metric} {value} ({low} to {high} over {seeds} seeds), a "
"process sends {sent} in a step", processes=processes, metric=compared.metric,
            value=f"{number(compared.value)} {compared.unit}".rstrip(), seeds=compared.rounds,
            low=number(compared.low), high=number(compared.high), sent=_size(table.sent),
        )
    )  # fmt: skip
    if table.values:
        click.echo(
            _(
                "its {metric}: {low} to {high}; another seed makes a difference of {spread}",
                metric=printable(table.metric),
                low=f"{min(table.values):.4g}",
                high=f"{max(table.values):.4g}",
                spread=f"{table.spread:.2g}" if table.spread is not None else "–",
            )
        )
    else:
        click.echo(_("neither an accuracy nor a loss was recorded at the end, so no gain can be claimed"))
    click.echo()
    names = ("hook", "sent", "speed", "interval", "difference", "verdict")
    echo_table([_(_HEAD_TEXTS[name]) for name in names], [_cells(row, table) for row in table.rows])
    click.echo()
    click.echo(
        _(
            "speed: median of the ratios to the program as it is, in the same round. If no option had an "
            "effect, a table like this would claim one with a probability of at most {percent} %.",
            percent=f"{100 * FALSE_CLAIMS:g}",
        )
    )
    for row in table.rows:
        if row.time.failed:
            log = f"runs/{run}/{row.time.failed}/logs/rank-0.log"
            click.echo(_("{option} failed: {log}", option=printable(row.time.name), log=log))
    if table.applied:
        click.echo(
            _(
                "use: {settings}   (`--apply` writes it into project.yaml)",
                settings=printable(settings_text(table.applied)),
            )
        )
    else:
        click.echo(_("no hook pays here: keep the gradients uncompressed"))


def _cells(row: "HookRow", table: "HookTable") -> list[str]:
    import math

    ratio, accuracy = row.time.ratio, row.accuracy
    bounded = ratio is not None and not math.isinf(ratio.high)
    sent = _size(row.sent)
    if row.sent is not None and table.sent:
        sent += f" ({100 * row.sent / table.sent:.3g} %)"
    difference = "–"
    if accuracy is not None:
        difference = f"{accuracy.middle:+.2g}"
        if math.isfinite(accuracy.low):
            difference += f" ({accuracy.low:+.2g}…{accuracy.high:+.2g})"
    return [
        row.time.name, sent, f"{ratio.middle:.3f}×" if ratio is not None else "–",
        f"{ratio.low:.3f}–{ratio.high:.3f}" if bounded and ratio is not None else "–",
        difference, _(_VERDICT_TEXTS[row.verdict]),
    ]  # fmt: skip


def _size(value: float | None) -> str:
    from hackathon.text.units import format_size

    return format_size(value) if value is not None else _("not known")
