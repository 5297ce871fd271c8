"""Read the events that a run's job wrote."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hackathon.text.files import read_lines


def job_events(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the job's events in the order written: started, ranks_started, checkpoint, warned, ended."""
    yield from read_lines(run / "events" / "job.jsonl")


def rank_events(run: Path) -> dict[int, list[dict[str, Any]]]:
    """Return rank → its events; files with other names and torn lines are passed over."""
    found = {}
    for path in (run / "events").glob("rank-*.jsonl"):
        number = path.stem.removeprefix("rank-")
        if number.isascii() and number.isdigit():
            found[int(number)] = list(read_lines(path))
    return dict(sorted(found.items()))


def hosts(run: Path, attempt: int) -> tuple[str, ...]:
    """Return the hosts on which ranks of an attempt began, in the order of ranks; the job's own host without ranks."""
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


def first_failure(run: Path, attempt: int) -> tuple[int, dict[str, Any]] | None:
    """Return (rank, its `ended` event) of the rank that failed first in an attempt; None when none did."""
    failed = [
        (float(event.get("t") or 0.0), rank, event)
        for rank, events in rank_events(run).items()
        for event in events
        if event.get("event") == "ended" and event.get("attempt", 1) == attempt and event.get("exit_code")
    ]
    if not failed:
        return None
    _, rank, event = min(failed, key=lambda entry: entry[:2])
    return rank, event
