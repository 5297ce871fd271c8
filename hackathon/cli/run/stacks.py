"""`hackathon logs --stacks`: get the Python stack of each rank of a running job."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hackathon.cli.show import printable
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.diagnosis.hangs.stacks import Stack
    from hackathon.runs.directory import RunDirectory

PATIENCE = 20.0
"""Seconds in which running ranks answer; they check for requests every five."""
LOOK = 0.5
"""Seconds between two checks for answers."""


def show_stacks(run: "RunDirectory", ranks: set[int] | None) -> None:
    """Ask the ranks of a running job for their stacks, and print the last one of each; equal ones once."""
    from hackathon.diagnosis.hangs.stacks import stacks_of
    from hackathon.logs.collapse import ranks_text
    from hackathon.runs.status import status

    state = status([run])[0]
    processes = run.known().processes
    if state.open:
        silent = set(_asked(run, processes)) if state.state == "RUNNING" else set()
        if silent:
            text = _(
                "no answer from ranks {ranks} within {seconds} s: they have not begun, are over, or do not run Python",
                ranks=ranks_text(silent),
                seconds=f"{PATIENCE:.0f}",
            )
            click.echo(f"{_('warning')}: {text}", err=True)
    stacks = [stack for stack in stacks_of(run.path) if ranks is None or stack.rank in ranks]
    if not stacks:
        click.echo(
            _(
                "no rank left a stack: Python writes one when somebody asks, shortly before the walltime ends, "
                "and when the job is cancelled"
            ),
            err=True,
        )
    for group in _equal(stacks):
        first = group[0]
        at = time.strftime("%H:%M:%S", time.localtime(first.written))
        waits = _("waits in {function}", function=first.waits) if first.waits else ""
        members = ranks_text({stack.rank for stack in group})
        click.echo(
            f"{at} [{'ranks' if len(group) > 1 else 'rank'} {members}]{f'  {printable(waits)}' if waits else ''}"
        )
        for frame in first.frames:
            mark = "→" if frame is first.own else " "
            click.echo(printable(f"  {mark} {_short(frame.path)}:{frame.line}  {frame.function}"))


def _short(path: str) -> str:
    """Return a short path: of a package or of the run's source, without the folders above it."""
    for above in ("/site-packages/", "/dist-packages/", "/source/"):
        if above in path:
            return path.rpartition(above)[2]
    return path


def _equal(stacks: "list[Stack]") -> "list[list[Stack]]":
    groups: dict[object, list[Stack]] = {}
    for stack in stacks:
        groups.setdefault(stack.frames, []).append(stack)
    return list(groups.values())


def _asked(run: "RunDirectory", processes: int) -> Iterator[int]:
    """Ask for stacks, wait for the answers, and yield the ranks without one."""
    import os

    from hackathon.runs.directory import file_mode
    from hackathon.text.files import write_whole

    folder = run.path / "stacks"
    before = _written(run, processes)
    try:
        write_whole(folder / "asked", f"{time.time():.6f}-{os.getpid()}\n", mode=file_mode(run.path))
    except OSError as error:
        text = _(
            "the ranks cannot be asked, for {folder} cannot be written: {what}",
            folder=folder,
            what=error.strerror or error,
        )
        click.echo(f"{_('warning')}: {text}", err=True)
        return
    click.echo(
        _("asking the ranks where they are; they answer within {seconds} s", seconds=f"{PATIENCE:.0f}"), err=True
    )
    end = time.monotonic() + PATIENCE
    while True:
        after = _written(run, processes)
        silent = [rank for rank in range(processes) if after.get(rank) == before.get(rank)]
        if not silent or time.monotonic() > end:
            yield from silent
            return
        time.sleep(LOOK)


def _written(run: "RunDirectory", processes: int) -> dict[int, tuple[int, int]]:
    """Return rank → (size, time) of its file."""
    from hackathon.logs.metrics import rank_files, rank_of

    stamps = {}
    for path in rank_files(run.path / "stacks", ".txt"):
        try:
            state = path.stat()
        except OSError:
            continue
        if rank_of(path) < processes:
            stamps[rank_of(path)] = (state.st_size, state.st_mtime_ns)
    return stamps
