"""`hackathon compress`: find out which precision of communication pays, compared with uncompressed trainings."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import job_options, named, option_trust
from hackathon.cli.speed.measuring import apply_settings, measured, no_value
from hackathon.jobs.options import Options
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.tuning.compress.verdict import HookRow, HookTable

_VERDICT_TEXTS = {
    "pays": "compress.verdict_pays",
    "accuracy": "compress.verdict_accuracy",
    "unclear": "compress.verdict_unclear",
    "slower": "compress.verdict_slower",
    "none": "compress.verdict_none",
    "few": "compress.verdict_few",
    "failed": "compress.verdict_failed",
}

_HEAD_TEXTS = {
    "hook": "compress.head_hook",
    "sent": "compress.head_sent",
    "speed": "compress.head_speed",
    "interval": "compress.head_interval",
    "difference": "compress.head_difference",
    "verdict": "compress.head_verdict",
}


@named("compress", help=message("help.compress_help"))
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@job_options
@click.option("--hooks", default="", metavar="NAME,…", help=message("compress.option_hooks"))
@click.option("--seeds", type=click.IntRange(5, 100), metavar="N", help=message("compress.option_seeds"))
@click.option("--seconds", type=click.IntRange(1, 86_400), default=60, show_default=True, metavar="N",
              help=message("compress.option_seconds"))  # fmt: skip
@click.option("--apply", "apply_it", is_flag=True, help=message("compress.option_apply"))
@click.option("--again", is_flag=True, help=message("speedup.option_again"))
@click.option("-y", "--yes", is_flag=True, help=message("speedup.option_yes"))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
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
    run = measured(measurement, again, yes, count * (1 + len(chosen)), question="compress.confirm")
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
        message(
            "compress.baseline", processes=processes, metric=compared.metric,
            value=f"{number(compared.value)} {compared.unit}".rstrip(), seeds=compared.rounds,
            low=number(compared.low), high=number(compared.high), sent=_size(table.sent),
        )
    )  # fmt: skip
    if table.values:
        click.echo(
            message(
                "compress.accuracy", metric=printable(table.metric), low=f"{min(table.values):.4g}",
                high=f"{max(table.values):.4g}", spread=f"{table.spread:.2g}" if table.spread is not None else "–",
            )
        )  # fmt: skip
    else:
        click.echo(message("compress.no_accuracy"))
    click.echo()
    names = ("hook", "sent", "speed", "interval", "difference", "verdict")
    echo_table([message(_HEAD_TEXTS[name]) for name in names], [_cells(row, table) for row in table.rows])
    click.echo()
    click.echo(message("speedup.error_rate", percent=f"{100 * FALSE_CLAIMS:g}"))
    for row in table.rows:
        if row.time.failed:
            log = f"runs/{run}/{row.time.failed}/logs/rank-0.log"
            click.echo(message("speedup.failed_log", option=printable(row.time.name), log=log))
    if table.applied:
        click.echo(message("speedup.use", settings=printable(settings_text(table.applied))))
    else:
        click.echo(message("compress.nothing"))


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
        difference, message(_VERDICT_TEXTS[row.verdict]),
    ]  # fmt: skip


def _size(value: float | None) -> str:
    from hackathon.text.units import format_size

    return format_size(value) if value is not None else message("speedup.unknown")
