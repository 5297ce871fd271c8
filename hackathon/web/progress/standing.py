"""The state of an unfinished run: each rank's last output, the time without progress, and the expected end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.record import RunEntry
from hackathon.logs.metrics import rank_of
from hackathon.logs.pace import pace
from hackathon.logs.values import number
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import ENDING, RUNNING
from hackathon.text.files import objects
from hackathon.text.json_fields import moment_of
from hackathon.text.messages import N_, _
from hackathon.text.units import format_age, format_duration, format_moment
from hackathon.web.page import sanitize as clean

_ENDS_TEXTS = {
    "step": N_("Step {done} of {total}: at this pace it ends at about {clock}, in {span}."),
    "epoch": N_("{done} of {total} epochs done: at this pace it ends at about {clock}, in {span}."),
}

FILES = 4096
"""The most logs, and files of Meters, whose modification time is read."""
SHOWN = 16
"""Ranks with a row: those without output for the longest time."""
TAIL, HEAD = 64 << 10, 4 << 10
"""Bytes at the end, and at the beginning, of a Meter's file that are read."""
LATE = 60.0
"""A rank is late if it is more seconds behind the most recent rank than this, and than that rank's own age."""


@dataclass(frozen=True)
class RankStanding:
    """One rank of an unfinished run."""

    rank: int
    host: str
    step: int | None
    """The step in its Meter's newest line."""
    age: str
    """How long ago it wrote last."""
    written: float
    """The time of its last output."""
    late: bool
    """Whether the others have written since then."""


@dataclass(frozen=True)
class RunStanding:
    """The state of a run."""

    ranks: tuple[RankStanding, ...]
    """Ranks without output for the longest time come first."""
    left: int
    """Ranks that are not displayed."""
    silent: int
    """Processes without a log and metrics."""
    still: str
    """How long nothing was written, in words; empty while the run makes progress."""
    end: str
    """The expected end, in words; empty if unknown."""
    too_late: bool
    """Whether the expected end is after the walltime."""


def standing(now: float, run: RunEntry, inside: GuardedFolder, still: float | None = None) -> RunStanding | None:
    """Return the state of a running run; None for others. `still`: since when it makes no progress."""
    if run.state not in (RUNNING, ENDING):
        return None
    written = _written(inside)
    newest = max(written.values(), default=now)
    order = sorted(written, key=lambda rank: (written[rank], rank))
    meters = {rank: _lines(inside, rank) for rank in order[:SHOWN]}
    hosts = _hosts(inside, order[:SHOWN])
    ranks = tuple(
        RankStanding(
            rank,
            hosts.get(rank, ""),
            _step(meters[rank]),
            format_age(max(0.0, now - written[rank])),
            written[rank],
            newest - written[rank] > max(LATE, now - newest),
        )
        for rank in order[:SHOWN]
    )
    words, too_late = _end(now, run, inside)
    return RunStanding(
        ranks, max(0, len(order) - SHOWN), max(0, run.processes - len(order)), _still(now, run, still), words, too_late
    )


def _written(inside: GuardedFolder) -> dict[int, float]:
    """Return rank → the modification time of its log or Meter's file, by the file server's clock."""
    moments: dict[int, float] = {}
    for folder, suffix in (("logs", ".log"), ("metrics", ".jsonl")):
        for name, state in inside.states(folder, FILES).items():
            rank = rank_of(Path(name))
            if rank >= 0 and name == f"rank-{rank}{suffix}" and state is not None and state.st_size:
                moments[rank] = max(moments.get(rank, 0.0), state.st_mtime)
    return moments


def _lines(inside: GuardedFolder, rank: int, *, with_start: bool = False) -> list[dict[str, Any]]:
    """Return the lines of a rank's newest attempt from the end of its Meter's file.

    `with_start`: also from its start.
    """
    name = f"metrics/rank-{rank}.jsonl"
    ending = inside.end(name, TAIL)
    if ending is None:
        return []
    raw, size = ending
    parts = raw.split(b"\n")[1 if size > len(raw) else 0 :]
    head = (inside.read(name, HEAD) or b"").split(b"\n")[:-1] if with_start and size > len(raw) else []
    lines = [*objects(head), *objects(parts)]
    newest = max((number(line.get("attempt")) or 1 for line in lines), default=1)
    return [line for line in lines if (number(line.get("attempt")) or 1) == newest]


def _step(lines: Iterable[Mapping[str, Any]]) -> int | None:
    steps = [step for line in lines if (step := number(line.get("step"))) is not None and 0 <= step < 1e15]
    return int(steps[-1]) if steps else None


def _hosts(inside: GuardedFolder, ranks: Iterable[int]) -> dict[int, str]:
    hosts = {}
    for rank in ranks:
        started = next((event for event in inside.lines(f"events/rank-{rank}.jsonl", HEAD) if event.get("host")), {})
        hosts[rank] = clean.line(str(started.get("host") or ""), 80)
    return hosts


def _still(now: float, run: RunEntry, since: float | None) -> str:
    if since is None:
        return ""
    span = format_duration(now - since)
    if run.step is not None:
        return _("Stood still since step {step}, for {span}.", step=run.step, span=span)
    return _("No new line for {span}.", span=span)


def _end(now: float, run: RunEntry, inside: GuardedFolder) -> tuple[str, bool]:
    """Return the expected end of a training and the end of its walltime as text, and whether that is too early."""
    limit = run.started + run.walltime if run.started is not None and run.walltime else None
    at_limit = ""
    if limit is not None:
        clock = format_moment(limit, "%H:%M")
        key = (
            N_("The walltime ends at {clock}, in {span}.")
            if limit > now
            else N_("The walltime ended at {clock}, {span} ago.")
        )
        at_limit = _(key, span=format_duration(abs(limit - now)), clock=clock)
    first = min((rank_of(Path(name)) for name in inside.names("metrics") if _is_meter(name)), default=None)
    lines = _lines(inside, first, with_start=True) if first is not None else []
    parameters = RunDirectory(Path(run.project) / "runs" / run.id).known().parameters
    progress = pace(lines, parameters)
    if progress is None or moment_of(progress.moment) is None:
        return at_limit, False
    end = progress.moment + progress.seconds
    text = _(
        _ENDS_TEXTS[progress.unit], done=f"{progress.done:.0f}", total=f"{progress.total:.0f}",
        span=format_duration(max(0.0, end - now)), clock=format_moment(end, "%H:%M"),
    )  # fmt: skip
    too_late = limit is not None and end > limit
    if too_late and limit is not None:
        text = f"{text} {_('That is {span} after its walltime.', span=format_duration(end - limit))}"
    return " ".join(part for part in (text, at_limit) if part), too_late


def _is_meter(name: str) -> bool:
    return rank_of(Path(name)) >= 0 and name == f"rank-{rank_of(Path(name))}.jsonl"
