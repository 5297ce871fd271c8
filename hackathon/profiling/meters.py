"""The shares of a run's steps from the lines that the runtime's Meter wrote on each rank."""

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
"""Bytes at the end of each rank's file that are read: some thousand steps."""
RANKS = 4096
"""Ranks whose files are read."""
STEPS, COLLECTIVES = 64, 256
"""Steps of a line, and collectives of a step, that count: as many as a Meter writes, or more."""
_SHARE = "_share"


def shares_of_run(run: Path, processes: int, meters: MeterFiles | None = None) -> RunShares | None:
    """Return where the time of a run's steps goes; None when no rank recorded any steps behind the warm-up.

    The newest attempt, and of files of more than TAIL bytes their ends. `processes`: of the run. Where the program's
    Meter does not tell its computing, or there is none, what was seen from outside counts. `meters`: the Meters' files
    where others read them, too.
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
    """Yield what the lines of a Meter say behind the warm-up.

    An older Meter does not say how many steps a line covers: they are those since the line before, and its first line
    is passed over.
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
    """Return the first and last step of a line; (0, 0) when they are not known."""
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
    """Return the seconds of each step's collectives; a value that cannot be meant ends the list."""
    collectives = []
    for step in listed(line.get("collectives"))[:STEPS]:
        spent = [value for number in listed(step)[:COLLECTIVES] if (value := finite(number)) is not None]
        if len(spent) != len(listed(step)) or any(not 0 <= value <= seconds for value in spent):
            break
        collectives.append(tuple(spent))
    return tuple(collectives)
