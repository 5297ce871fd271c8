"""Print the outputs of programs with sizes: single files, and folders with many files as one line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.outputs.walk import OutputFile, Outputs

LINES = 20
"""Lines of a list that is not requested by itself."""


def show_lines(files: "Sequence[OutputFile]") -> None:
    """Print files with their sizes, the largest first."""
    from hackathon.cli.show import printable
    from hackathon.runs.outputs.record import lines

    listing = lines(files)
    for line in listing[:LINES]:
        click.echo(f"  {format_size(line.size):>9}  {printable(line.text)}")
    if len(listing) > LINES:
        remaining = listing[LINES:]
        size = format_size(sum(line.size for line in remaining))
        click.echo("  " + message("outputs.more", count=sum(len(line.files) for line in remaining), size=size))


def show_outputs(run: "RunDirectory") -> None:
    """Print a run's outputs and how to copy them; nothing if there are none."""
    from hackathon.runs.outputs.record import outputs_of

    outputs = outputs_of(run)
    if not outputs.files and not elsewhere(run):
        return
    click.echo()
    if outputs.files:
        key = "outputs.title" if outputs.complete else "outputs.title_at_least"
        click.echo(message(key, run=run.id, count=len(outputs.files), size=format_size(outputs.size)))
        show_lines(outputs.files)
        click.echo(message("outputs.how", run=run.id[-8:]))
    if hint := elsewhere(run):
        click.echo(hint)


def elsewhere(run: "RunDirectory") -> str:
    """Return the other folders for a program's outputs: checkpoints of a chain, the live folder.

    Empty if there are none.
    """
    from hackathon.runs.chain import chain_of, segment_of

    segment = segment_of(run)
    if segment is not None and segment.number > 1:
        return message("outputs.in_first", run=chain_of(run)[0].id)
    record = run.known()
    if record.in_place and record.source:
        return message("outputs.in_place", folder=record.source)
    return ""


def outputs_json(outputs: "Outputs") -> dict[str, Any]:
    """Return a program's outputs as JSON values, folders with many files as one."""
    from hackathon.runs.outputs.record import lines

    return {
        "files": len(outputs.files),
        "bytes": outputs.size,
        "complete": outputs.complete,
        "listed": [{"path": line.path, "files": len(line.files), "bytes": line.size} for line in lines(outputs.files)],
    }
