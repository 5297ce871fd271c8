"""Print the outputs of programs with sizes: single files, and folders with many files as one line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hackathon.text.messages import N_, _
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
        click.echo(
            "  "
            + _(
                "… and {count} more {count:file|files}, {size}",
                count=sum(len(line.files) for line in remaining),
                size=size,
            )
        )


def show_outputs(run: "RunDirectory") -> None:
    """Print a run's outputs and how to copy them; nothing if there are none."""
    from hackathon.runs.outputs.record import outputs_of

    outputs = outputs_of(run)
    if not outputs.files and not elsewhere(run):
        return
    click.echo()
    if outputs.files:
        key = (
            N_("written by the program of {run}: {count} {count:file|files}, {size}")
            if outputs.complete
            else N_("written by the program of {run}: at least {count} {count:file|files}, {size}")
        )
        click.echo(_(key, run=run.id, count=len(outputs.files), size=format_size(outputs.size)))
        show_lines(outputs.files)
        _show_trackers(run, outputs.files)
        click.echo(_("`hackathon fetch {run!q}` copies them to the current folder", run=run.id[-8:]))
    if hint := elsewhere(run):
        click.echo(hint)


def _show_trackers(run: "RunDirectory", files: "Sequence[OutputFile]") -> None:
    """Print the experiment trackers among a program's outputs, each with the command for it."""
    from hackathon.cli.show import printable
    from hackathon.runs.outputs.trackers import tracker_files

    entries = tracker_files(files)
    if entries:
        click.echo(_("experiment trackers; type these lines in {folder}:", folder=printable(str(run.path))))
    for entry in entries[:LINES]:
        click.echo(f"  {printable(entry.text)}: {printable(entry.command)}")
    if len(entries) > LINES:
        click.echo("  " + _("… and {count} more", count=len(entries) - LINES))


def elsewhere(run: "RunDirectory") -> str:
    """Return the other folders for a program's outputs: checkpoints of a chain, the live folder.

    Empty if there are none.
    """
    from hackathon.runs.chain import chain_of, segment_of

    segment = segment_of(run)
    if segment is not None and segment.number > 1:
        return _("the checkpoints of all segments are in the first one: {run}", run=chain_of(run)[0].id)
    record = run.known()
    if record.in_place and record.source:
        return _(
            "the program ran in {folder}: files with relative paths are there, and they are not recorded",
            folder=record.source,
        )
    return ""


def outputs_json(outputs: "Outputs") -> dict[str, Any]:
    """Return a program's outputs as JSON values, folders with many files as one."""
    from hackathon.runs.outputs.record import lines
    from hackathon.runs.outputs.trackers import tracker_files

    return {
        "trackers": [entry.to_json() for entry in tracker_files(outputs.files)],
        "files": len(outputs.files),
        "bytes": outputs.size,
        "complete": outputs.complete,
        "listed": [{"path": line.path, "files": len(line.files), "bytes": line.size} for line in lines(outputs.files)],
    }
