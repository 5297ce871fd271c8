"""How `hackathon speedup` prints its table, and the search for the largest batch."""

from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.tuning.batches import LargestBatch
    from hackathon.tuning.result import SpeedupResult


def show_json(result: "SpeedupResult") -> None:
    """Print the table as JSON."""

    echo_json(result.as_json())


def show_table(result: "SpeedupResult") -> None:
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


def show_largest(run: "RunDirectory", batch: "LargestBatch") -> None:
    """Print the starts, the largest batch, the recommended one, and options that reduce memory."""
    from hackathon.cli.show import echo_table
    from hackathon.tuning.sentences import largest_sentences, probe_cells, probe_heads

    echo_table(probe_heads(), [probe_cells(probe) for probe in batch.probes])
    click.echo()
    for line in largest_sentences(batch, run.id):
        click.echo(line)
