"""How commands list what a program wrote: single files, folders with many as one line, with sizes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import message
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.outputs.walk import OutputFile, Outputs

LINES = 20
"""Lines that are shown of a list which is not asked for by itself."""


def show_lines(files: "Sequence[OutputFile]", most: int | None = LINES) -> None:
    """Print files with their sizes, the largest first."""
    from hackathon.cli.show import printable
    from hackathon.runs.outputs.record import lines

    listing = lines(files)
    for line in listing[:most]:
        click.echo(f"  {format_size(line.size):>9}  {printable(line.text)}")
    if most is not None and len(listing) > most:
        remaining = listing[most:]
        size = format_size(sum(line.size for line in remaining))
        click.echo("  " + message("outputs.more", count=sum(len(line.files) for line in remaining), size=size))


def show_outputs(run: "RunDirectory") -> None:
    """Print what a run's program wrote and how to get it; nothing for a run without such files."""
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
    """Return where else the program of a run wrote: checkpoints of a chain, the live folder; empty for no other."""
    from hackathon.runs.chain import chain_of, segment_of

    segment = segment_of(run)
    if segment is not None and segment.number > 1:
        return message("outputs.in_first", run=chain_of(run)[0].id)
    record = run.known()
    if record.in_place and record.source:
        return message("outputs.in_place", folder=record.source)
    return ""


def outputs_json(outputs: "Outputs") -> dict[str, Any]:
    """Return what a program wrote as JSON values, folders with many files as one."""
    from hackathon.runs.outputs.record import lines

    return {
        "files": len(outputs.files),
        "bytes": outputs.size,
        "complete": outputs.complete,
        "listed": [{"path": line.path, "files": len(line.files), "bytes": line.size} for line in lines(outputs.files)],
    }
