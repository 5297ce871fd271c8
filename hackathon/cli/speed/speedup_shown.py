"""How `hackathon speedup` shows its table, and the search for the largest batch."""

import math
from typing import TYPE_CHECKING

import click

from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.batches import BatchProbe, LargestBatch
    from hackathon.tuning.result import SpeedupResult
    from hackathon.tuning.verdict import OptionRow


def show_json(result: "SpeedupResult") -> None:
    """Print everything as JSON."""
    import json

    click.echo(json.dumps(result.as_json(), ensure_ascii=False, indent=1, allow_nan=False))


def show_table(result: "SpeedupResult") -> None:
    """Print the table, what to do with it, and what was not tried."""
    from hackathon.cli.show import echo_table, printable
    from hackathon.scaling.show import number
    from hackathon.tuning.intervals import FALSE_CLAIMS

    compared = result.compared
    unit = f" {compared.unit}" if compared.unit else ""
    click.echo(
        message(
            "speedup.baseline", metric=compared.metric, value=number(compared.value) + unit,
            low=number(compared.low), high=number(compared.high), rounds=compared.rounds,
        )
    )  # fmt: skip
    if compared.shares:
        parts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in compared.shares.items())
        click.echo(message("speedup.shares", parts=parts))
    rows = [*compared.rows, *([result.together] if result.together is not None else [])]
    click.echo()
    heads = [message(f"speedup.head_{name}") for name in ("option", "ratio", "interval", "verdict", "loss", "reason")]
    echo_table(heads, [_cells(row) for row in rows])
    click.echo()
    click.echo(message("speedup.error_rate", percent=f"{100 * FALSE_CLAIMS:g}"))
    for row in rows:
        if row.failed:
            log = f"runs/{result.run}/{row.failed}/logs/rank-0.log"
            click.echo(message("speedup.failed_log", option=printable(row.name), log=log))
    if result.applied:
        from hackathon.jobs.settings import settings_text

        click.echo(message("speedup.use", settings=printable(settings_text(result.applied))))
    else:
        click.echo(message("speedup.nothing"))
    _show_left(result)


def _cells(row: "OptionRow") -> list[str]:
    ratio = row.ratio
    interval = f"{ratio.low:.3f}–{ratio.high:.3f}" if ratio is not None and not math.isinf(ratio.high) else "–"
    return [
        row.name,
        f"{ratio.middle:.3f}×" if ratio is not None else "–",
        interval,
        message(f"speedup.verdict_{row.verdict}"),
        message(f"speedup.loss_{row.loss}"),
        row.reason or "–",
    ]


def _show_left(result: "SpeedupResult") -> None:
    for why in ("there", "gpu"):
        names = [each.name for each in result.left if each.why == why]
        if names:
            click.echo(message(f"speedup.left_{why}", names=", ".join(names)))
    for each in result.left:
        if each.why == "lines":
            click.echo(message("speedup.left_lines", name=each.name))
            for line in each.lines.split("\n"):
                click.echo(f"    {line}")


def show_largest(run: "RunDirectory", found: "LargestBatch") -> None:
    """Print the starts, the largest batch, the one to use, and what lowers memory."""
    from hackathon.cli.show import echo_table
    from hackathon.text.units import format_size

    def memory(probe: "BatchProbe") -> str:
        return format_size(probe.memory) if probe.memory is not None else message("speedup.unknown")

    heads = [message(f"largest_batch.head_{name}") for name in ("batch", "what", "result", "memory")]
    echo_table(
        heads,
        [[str(each.batch), _kind(each), _ended(each), memory(each)] for each in found.probes],
    )  # fmt: skip
    click.echo()
    if found.limit is not None:
        click.echo(message("largest_batch.limit", size=format_size(found.limit)))
    if found.other_failure is not None:
        log = f"runs/{run.id}/{found.other_failure.folder}/logs/rank-0.log"
        click.echo(message("largest_batch.other_failure", batch=found.other_failure.batch, log=log))
        return
    if found.largest is None:
        click.echo(message("largest_batch.none_fits", batch=found.probes[-1].batch if found.probes else 1))
        return
    guess = message("speedup.unknown") if found.predicted is None else str(found.predicted)
    click.echo(message("largest_batch.largest", batch=found.largest, predicted=guess))
    confirmed = "confirmed" if found.confirmed else "not_confirmed"
    click.echo(message(f"largest_batch.{confirmed}", batch=found.recommended))
    if found.recommended and found.recommended > found.first:
        factor = f"{found.recommended / found.first:.3g}"
        click.echo(message("largest_batch.rate", factor=factor, batch=found.recommended, first=found.first))
        click.echo(message("largest_batch.critical"))
    _show_savers(found)


def _show_savers(found: "LargestBatch") -> None:
    from hackathon.text.units import format_size

    plain = next((each.memory for each in found.probes if each.kind == "confirm"), None)
    for each in found.probes:
        if each.kind in ("search", "confirm") or each.memory is None or plain is None or not each.fits:
            continue
        click.echo(
            message(
                "largest_batch.saver", name=_kind(each), memory=format_size(each.memory), plain=format_size(plain),
            )
        )  # fmt: skip


def _kind(probe: "BatchProbe") -> str:
    return message(f"largest_batch.kind_{probe.kind}")


def _ended(probe: "BatchProbe") -> str:
    if probe.fits:
        return message("largest_batch.fits")
    return message("largest_batch.out_of_memory" if probe.out_of_memory else "largest_batch.failed")
