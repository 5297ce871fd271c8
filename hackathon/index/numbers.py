"""A run's latest measurements, and the load of its machine then, from the ends of its files."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.access.guarded_path import GuardedPath
from hackathon.logs.final import MOST_LOGS, Numbers, final_numbers, metric_unit, throughput
from hackathon.logs.meter_files import MeterFiles
from hackathon.logs.metrics import rank_of
from hackathon.logs.values import number
from hackathon.runs.record import RunRecord
from hackathon.text.errors import RequestError
from hackathon.text.files import objects
from hackathon.text.numbers import finite
from hackathon.text.told import Told

TAIL = 64 << 10
"""Bytes at the end of a file of metrics or telemetry that are read."""
INTERVALS = 10
"""Intervals whose median is the value of an unfinished run."""
LOGS_OPEN = 1 << 20
"""Bytes of an unfinished run's logs that are searched for numbers if no Meter wrote any."""
WINDOW = 300.0
"""Seconds of telemetry that count, back from its newest line."""
HOSTS = 16
"""Hosts whose telemetry is read."""
_MEMORY = re.compile(r"(\d+)\s*(MiB|GiB|GB)\b")


@dataclass(frozen=True)
class RunningNumbers:
    """The numbers of a run: the final ones, or for an unfinished run those of its last lines."""

    numbers: Numbers
    interval: float | None = None
    """Seconds between the newest metric lines of an unfinished run."""
    problem: Told | None = None
    """Why its patterns found nothing."""


@dataclass(frozen=True)
class HostLoad:
    """The load of a run's hosts over the last minutes; None is unknown."""

    gpu_percent: float | None = None
    memory_percent: float | None = None
    cpu_percent: float | None = None


def tail_lines(files: GuardedFolder, name: str) -> list[bytes]:
    """Return the complete lines in the last TAIL bytes of a run's file; empty if it cannot be read."""
    end = files.end(name, TAIL)
    if end is None:
        return []
    raw, size = end
    lines = raw.split(b"\n")
    return lines[1 if size > TAIL else 0 :]


def numbers(
    run: GuardedPath, record: RunRecord, metrics: Iterable[str], meters: MeterFiles, *, over: bool
) -> RunningNumbers:
    """Return a run's measurements; `metrics`: names in its folder `metrics`; `meters`: the Meters' files among them.

    For an ended run: its final numbers. For an unfinished one: the median over the last INTERVALS lines of the Meter,
    else the numbers found in short logs.
    """
    lines = [] if over else _newest_attempt(run, metrics)
    entry = record.metrics.get(record.metric, {})
    latest = {} if over or entry.get("pattern") else _metered(lines)
    if latest:
        metric = throughput(record.metric, record.metrics, latest)
        measured = Numbers(latest, True, metric, metric_unit(record.metrics, metric))
        return RunningNumbers(measured, _interval(lines))
    problem = None
    try:
        most = MOST_LOGS if over else LOGS_OPEN
        measured = final_numbers(run, record, over=over, most_bytes=most, meters=meters)
    except (RequestError, OSError, ValueError, TypeError) as error:
        measured = Numbers({}, False, record.metric, metric_unit(record.metrics, record.metric))
        if isinstance(error, RequestError):
            problem = Told(error.id, {name: str(value)[:2000] for name, value in error.values.items()})
    return RunningNumbers(measured, _interval(lines), problem)


def _newest_attempt(run: GuardedPath, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the newest attempt's last lines in the file of the lowest rank, as many as its numbers need."""
    first = min((name for name in names if _rank(name) >= 0), key=_rank, default=None)
    rows: list[dict[str, Any]] = []
    attempt, counted = 0, 0
    # from the end, because a few lines suffice for most runs
    for line in objects(reversed(tail_lines(run.folder, f"metrics/{first}") if first is not None else [])):
        its = int(finite(number(line.get("attempt"))) or 1)
        if its < attempt:
            break
        if its > attempt:
            attempt, counted, rows = its, 0, []
        rows.append(line)
        counted += not line.get("final") and not line.get("warmup")
        if counted > INTERVALS:
            break
    return rows[::-1]


def newest_times(run: GuardedPath) -> tuple[float | None, float | None]:
    """Return the time of the newest number of a run's first rank, and the usual seconds between two; None: unknown."""
    rows = [row for row in _newest_attempt(run, run.folder.names("metrics")) if not row.get("final")]
    times = [t for row in rows if (t := finite(number(row.get("t")))) is not None]
    return max(times, default=None), _interval(rows)


def _interval(rows: Iterable[Mapping[str, Any]]) -> float | None:
    times = [t for line in rows if not line.get("final") and (t := finite(number(line.get("t")))) is not None]
    gaps = [later - earlier for earlier, later in pairwise(times[-INTERVALS - 1 :]) if later > earlier]
    return median(gaps) if gaps else None


def _metered(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the values of a Meter's newest lines: the median of rates, the last value of others."""
    values: dict[str, list[float]] = {}
    for line in rows:
        if line.get("final") or line.get("warmup"):
            continue
        for name, raw_value in line.items():
            value = number(raw_value)
            if value is not None and name not in ("t", "attempt"):
                values.setdefault(name, []).append(value)
    return {
        name: median(series[-INTERVALS:]) if name.endswith(("_per_s", "_per_sec")) else series[-1]
        for name, series in values.items()
    }


def _rank(name: str) -> int:
    return rank_of(Path(name)) if name.startswith("rank-") and name.endswith(".jsonl") else -1


def usage(run: GuardedPath) -> HostLoad:
    """Return the mean utilisation of a run's GPUs and CPUs and the highest share of a GPU's memory, in percent.

    The mean covers the last WINDOW seconds of each host's data, by its own clock.
    """
    busy: list[float] = []
    cpu: list[float] = []
    used: dict[str, float] = {}
    files = run.folder
    for name in [file for file in files.names("telemetry") if file.endswith(".csv")][:HOSTS]:
        for _, kind, percent, memory in _rows(files, f"telemetry/{name}"):
            (busy if kind == "gpu" else cpu).append(percent)
            if kind == "gpu" and memory is not None:
                host = name.removesuffix(".csv")
                used[host] = max(memory, used.get(host, 0.0))
    shares = [100.0 * memory / total for host, memory in used.items() if (total := gpu_memory(files, host))]
    return HostLoad(
        _percent(sum(busy) / len(busy)) if busy else None,
        _percent(max(shares)) if shares else None,
        _percent(sum(cpu) / len(cpu)) if cpu else None,
    )


def _rows(files: GuardedFolder, name: str) -> list[tuple[float, str, float, float | None]]:
    """Return (seconds since 1970, `gpu` or `cpu`, percent, MiB) of a file's last WINDOW seconds."""
    rows: list[tuple[float, str, float, float | None]] = []
    for line in reversed(tail_lines(files, name)):
        parts = line[:200].split(b",")
        try:
            moment, percent = float(parts[0]), float(parts[3])
            memory = float(parts[4]) if parts[4] else None
        except (ValueError, IndexError):
            continue  # the header, an incomplete line, `[N/A]`
        if not (math.isfinite(moment) and 0.0 <= percent <= 100.0 and parts[1] in (b"gpu", b"cpu")):
            continue
        if rows and rows[0][0] - moment > WINDOW:
            break
        rows.append((moment, parts[1].decode(), percent, memory if memory is None or math.isfinite(memory) else None))
    return rows


def gpu_memory(files: GuardedFolder, host: str) -> float | None:
    """Return the MiB of a host's smallest GPU from `nvidia-smi`, else from its name; None if neither contains it."""
    listed = files.json(f"env/{host}.json").get("gpus")
    sizes = []
    for text in listed if isinstance(listed, list) else ():
        amounts = _MEMORY.findall(str(text)[:500])
        if amounts:
            amount, unit = amounts[-1]
            sizes.append(float(amount) * {"MiB": 1.0, "GiB": 1024.0, "GB": 1024.0}[unit])  # names use GB
    return min(sizes) if sizes and min(sizes) > 0 else None


def _percent(value: float) -> float:
    return min(100.0, max(0.0, value))
