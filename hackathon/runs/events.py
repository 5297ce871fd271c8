"""Read the events of a run's job."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hackathon.runs.directory import guarded
from hackathon.text.files import LARGEST, objects, read_lines
from hackathon.text.json_fields import moment_of, text_of

Failure = tuple[int, dict[str, Any]]
"""A rank and its last event."""
KILL = 9
"""A process rarely sends itself this signal: it comes from the kernel (out of memory) or from a person."""
AT_ONCE = 10.0
"""Seconds by which a killed rank's record may follow those of ranks that failed because of it."""


def job_events(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the job's events in file order: started, ranks_started, checkpoint, warned, ended."""
    path = guarded(run)
    inner = f"{path.inner}/events/job.jsonl".lstrip("/")
    yield from objects((path.folder.read(inner, LARGEST) or b"").split(b"\n"))


def rank_events(run: Path) -> dict[int, list[dict[str, Any]]]:
    """Return rank → its events; files with other names and incomplete lines are skipped."""
    by_rank = {}
    for path in (guarded(run) / "events").glob("rank-*.jsonl"):
        number = path.stem.removeprefix("rank-")
        if number.isascii() and number.isdigit():
            by_rank[int(number)] = list(read_lines(path))
    return dict(sorted(by_rank.items()))


def hosts(run: Path, attempt: int) -> tuple[str, ...]:
    """Return the hosts of an attempt's ranks, by rank; the job's own host without ranks."""
    listed = [
        str(event["host"])
        for events in rank_events(run).values()
        for event in events
        if event.get("event") == "started" and event.get("host") and event.get("attempt", 1) == attempt
    ]
    if not listed:
        listed = [
            str(event["host"]) for event in job_events(run) if event.get("host") and event.get("attempt", 1) == attempt
        ]
    return tuple(dict.fromkeys(listed))


def first_failure(run: Path, attempt: int) -> Failure | None:
    """Return (rank, its `ended` event) of the first rank to fail in an attempt of a finished job, else None.

    If all failed ranks had been asked to stop, a rank without an `ended` event was the first: it was killed with its
    shell or its node. Its `started` event is returned, and its exit code is None.
    """
    by_itself: list[Failure] = []
    ended_on_order: list[Failure] = []
    vanished: list[Failure] = []
    for rank, events in rank_events(run).items():
        kinds = {text_of(event.get("event")): event for event in events if event.get("attempt", 1) == attempt}
        ended = kinds.get("ended")
        if ended is not None and ended.get("exit_code"):
            (ended_on_order if "told" in kinds else by_itself).append((rank, ended))
        elif ended is None and "started" in kinds and "told" not in kinds:
            vanished.append((rank, {**kinds["started"], "exit_code": None, "signal": None}))
    if by_itself:
        first = min(by_itself, key=_moment)
        # other ranks may notice the end of a killed rank before its own shell does
        killed = [failure for failure in by_itself if failure[1].get("signal") == KILL]
        return min(
            (failure for failure in killed if _moment(failure) - _moment(first) < AT_ONCE), key=_moment, default=first
        )
    if ended_on_order and vanished:
        return vanished[0]
    return min(ended_on_order, key=_moment, default=None)


def _moment(entry: Failure) -> float:
    return moment_of(entry[1].get("t")) or 0.0
