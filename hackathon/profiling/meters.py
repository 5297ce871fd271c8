"""The shares of a run's steps from the lines of the runtime's Meter on each rank."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import newest_lines, rank_files, rank_of
from hackathon.profiling.outside import outside_shares
from hackathon.profiling.shares import Interval, RunShares, run_shares
from hackathon.runs.directory import guarded
from hackathon.text.json_fields import count_of, listed
from hackathon.text.numbers import finite

TAIL = 256 << 10
"""Bytes read from the end of each rank's file: some thousand steps."""
RANKS = 4096
"""Ranks whose files are read."""
STEPS, COLLECTIVES = 64, 256
"""Limits on the steps of a line and the collectives of a step: a Meter writes at most as many."""
_SHARE = "_share"


def shares_of_run(run: Path, processes: int, meters: MeterFiles | None = None) -> RunShares | None:
    """Return how the time of a run's steps is split; None when no rank recorded steps after the warm-up.

    Covers the newest attempt; of files above TAIL bytes only their ends. `processes`: of the run. If the Meter does not
    record computing, or there is no Meter, the recorder's observations from outside count. `meters`: the Meters' files,
    if the caller has read them.
    """
    measured = _of_meters(run, processes, meters)
    if measured is not None and all(rank.compute is not None for rank in measured.ranks):
        return measured
    return outside_shares(run, processes) or measured


def _of_meters(run: Path, processes: int, meters: MeterFiles | None) -> RunShares | None:
    files = (rank_files(guarded(run) / "metrics", ".jsonl") if meters is None else meters.files)[:RANKS]
    records = {rank_of(file): list(intervals(newest_lines(file, TAIL, meters))) for file in files}
    return run_shares({rank: record for rank, record in records.items() if rank < processes}, processes)


def intervals(lines: Iterable[Mapping[str, Any]]) -> Iterator[Interval]:
    """Yield the intervals in a Meter's lines after the warm-up.

    An older Meter does not record the number of steps of a line: they are those since the previous line, and its first
    line is skipped.
    """
    before: int | None = None
    for line in lines:
        if line.get("final"):
            continue
        since, before = before, count_of(line.get("step")) or None
        seconds = finite(line.get("seconds"))
        if not seconds or seconds <= 0 or line.get("warmup"):
            continue
        first, last = _steps(line, since)
        if 0 < first <= last:
            yield Interval(first, last, seconds, dict(_phases(line, seconds)), _collectives(line, seconds))


def _steps(line: Mapping[str, Any], before: int | None) -> tuple[int, int]:
    """Return the first and last step of a line; (0, 0) when they are unknown."""
    bounds = listed(line.get("interval"))
    if len(bounds) == 2:
        return count_of(bounds[0]), count_of(bounds[1])
    return (before + 1, count_of(line.get("step"))) if before is not None else (0, 0)


def _phases(line: Mapping[str, Any], seconds: float) -> Iterator[tuple[str, float]]:
    for name, value in line.items():
        share = finite(value) if name.endswith(_SHARE) else None
        if share is not None and 0 <= share <= 1:
            yield name.removesuffix(_SHARE), share * seconds


def _collectives(line: Mapping[str, Any], seconds: float) -> tuple[tuple[float, ...], ...]:
    """Return the seconds of each step's collectives; an implausible value ends the list."""
    collectives = []
    for step in listed(line.get("collectives"))[:STEPS]:
        spent = [value for number in listed(step)[:COLLECTIVES] if (value := finite(number)) is not None]
        if len(spent) != len(listed(step)) or any(not 0 <= value <= seconds for value in spent):
            break
        collectives.append(tuple(spent))
    return tuple(collectives)
