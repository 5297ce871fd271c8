"""What a run measured last, and how busy its machine was then: from the ends of its files, however long they are."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.logs.metrics import rank_of, read_metrics
from hackathon.logs.values import number
from hackathon.scaling.collect import metric_unit
from hackathon.text.errors import RequestError
from hackathon.text.files import objects, open_regular, read_json

TAIL = 64 << 10
"""Bytes at the end of a file of metrics or telemetry that are read."""
INTERVALS = 10
"""Intervals whose median is the value of a run that goes on."""
LOGS_ENDED, LOGS_OPEN = 32 << 20, 1 << 20
"""Bytes of logs in which numbers are looked for when no Meter wrote any: of an ended run, of one that goes on."""
WINDOW = 300.0
"""Seconds of telemetry that count, back from its newest line."""
HOSTS = 16
"""Hosts whose telemetry is read."""
THROUGHPUTS = ("samples_per_s", "tokens_per_s", "steps_per_s")
_MEMORY = re.compile(r"(\d+)\s*(MiB|GiB|GB)\b")


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run."""

    metric: str
    value: float | None = None
    unit: str = ""
    loss: float | None = None
    step: int | None = None
    interval: float | None = None
    """Seconds between the newest lines of metrics."""
    check: float | None = None
    """What the request's check looks at."""


@dataclass(frozen=True)
class Usage:
    """How busy a run's hosts were over the last minutes; None is not known."""

    gpu_percent: float | None = None
    memory_percent: float | None = None
    cpu_percent: float | None = None


def tail_lines(path: str, limit: int = TAIL) -> list[bytes]:
    """Return the complete lines in the last `limit` bytes of a regular file; none when it can not be read."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - limit))
            raw = stream.read(limit)
    except OSError:
        return []
    lines = raw.split(b"\n")
    return lines[1 if size > limit else 0 :]


def numbers(run: Path, record: Mapping[str, Any], metrics: Iterable[str], *, ended: bool, logs: int) -> Numbers:
    """Return what a run measured; `metrics`: names in its folder `metrics`; `logs`: bytes of all its logs.

    As `hackathon results` reads them where it can: the Meter's last line, and for a run that goes on the median over
    the last INTERVALS lines. Logs are read where only they tell, unless they are too long for that.
    """
    wanted = str(record.get("metric") or "samples_per_s")
    declared = record.get("metrics")
    patterns = declared if isinstance(declared, dict) else {}
    entry = patterns.get(wanted)
    from_logs = isinstance(entry, dict) and bool(entry.get("pattern"))
    lines = _newest_attempt(run, metrics, ended)
    found = {} if from_logs else _metered(lines, ended)
    if not found and logs <= (LOGS_ENDED if ended else LOGS_OPEN):
        try:
            found = read_metrics(run, {n: e for n, e in patterns.items() if isinstance(e, dict)}, wanted)
        except (RequestError, OSError, ValueError, TypeError):
            found = {}
    name = wanted
    if name == "samples_per_s" and name not in found and name not in patterns:
        name = next((each for each in THROUGHPUTS if each in found), name)
    check = record.get("check")
    step = _finite(found.get("step"))
    return Numbers(
        name,
        _finite(found.get(name)),
        metric_unit(record, name),
        _finite(found.get("loss")),
        None if step is None else int(step),
        _interval(lines),
        found.get(str(check.get("metric"))) if isinstance(check, dict) else None,
    )


def _newest_attempt(run: Path, names: Iterable[str], ended: bool) -> list[dict[str, Any]]:
    """Return the newest attempt's last lines in the file of the lowest rank: as many as its numbers are made from."""
    first = min((name for name in names if _rank(name) >= 0), key=_rank, default=None)
    rows: list[dict[str, Any]] = []
    attempt, counted, final = 0, 0, False
    # from the end: of most runs a few lines tell all
    for line in objects(reversed(tail_lines(f"{run}/metrics/{first}") if first is not None else [])):
        its = int(_finite(number(line.get("attempt"))) or 1)
        if its < attempt:
            break
        if its > attempt:
            attempt, counted, final, rows = its, 0, False, []
        rows.append(line)
        final = final or bool(line.get("final"))
        counted += not line.get("final") and not line.get("warmup")
        if counted > INTERVALS and (final or not ended):
            break
    return rows[::-1]


def _interval(rows: Iterable[Mapping[str, Any]]) -> float | None:
    times = [t for line in rows if not line.get("final") and (t := _finite(number(line.get("t")))) is not None]
    gaps = [later - earlier for earlier, later in pairwise(times[-INTERVALS - 1 :]) if later > earlier]
    return median(gaps) if gaps else None


def _metered(rows: Sequence[Mapping[str, Any]], ended: bool) -> dict[str, float]:
    """Return the numbers in a Meter's lines."""
    final = next((line for line in reversed(rows) if line.get("final")), None)
    counted = [line for line in rows if not line.get("final") and not line.get("warmup")]
    values: dict[str, list[float]] = {}
    for line in counted:
        for name, raw_value in line.items():
            value = number(raw_value)
            if value is not None and name not in ("t", "attempt"):
                values.setdefault(name, []).append(value)
    latest = 0 if ended else -INTERVALS
    found = {
        name: median(each[latest:]) if name.endswith(("_per_s", "_per_sec")) else each[-1]
        for name, each in values.items()
    }
    ending = {n: v for n, raw in (final or {}).items() if (v := number(raw)) is not None}
    return {**found, **ending}


def _rank(name: str) -> int:
    return rank_of(Path(name)) if name.startswith("rank-") and name.endswith(".jsonl") else -1


def usage(run: Path) -> Usage:
    """Return the mean utilisation of a run's GPUs and CPUs and the highest share of a GPU's memory, in percent.

    Over the last WINDOW seconds that each host wrote about, by its own clock.
    """
    busy: list[float] = []
    cpu: list[float] = []
    used: dict[str, float] = {}
    for name in _names(f"{run}/telemetry", ".csv")[:HOSTS]:
        for _, kind, percent, memory in _rows(f"{run}/telemetry/{name}"):
            (busy if kind == "gpu" else cpu).append(percent)
            if kind == "gpu" and memory is not None:
                host = name.removesuffix(".csv")
                used[host] = max(memory, used.get(host, 0.0))
    shares = [100.0 * memory / total for host, memory in used.items() if (total := _gpu_memory(run, host))]
    return Usage(
        _percent(sum(busy) / len(busy)) if busy else None,
        _percent(max(shares)) if shares else None,
        _percent(sum(cpu) / len(cpu)) if cpu else None,
    )


def _rows(path: str) -> list[tuple[float, str, float, float | None]]:
    """Return (seconds since 1970, `gpu` or `cpu`, percent, MiB) of a file's last WINDOW seconds."""
    rows: list[tuple[float, str, float, float | None]] = []
    for line in reversed(tail_lines(path)):
        parts = line[:200].split(b",")
        try:
            moment, percent = float(parts[0]), float(parts[3])
            memory = float(parts[4]) if parts[4] else None
        except (ValueError, IndexError):
            continue  # the header, a torn line, `[N/A]`
        if not (math.isfinite(moment) and 0.0 <= percent <= 100.0 and parts[1] in (b"gpu", b"cpu")):
            continue
        if rows and rows[0][0] - moment > WINDOW:
            break
        rows.append((moment, parts[1].decode(), percent, memory if memory is None or math.isfinite(memory) else None))
    return rows


def _gpu_memory(run: Path, host: str) -> float | None:
    """Return the MiB of a host's smallest GPU as `nvidia-smi` told, else as its name says; None when neither does."""
    value = read_json(run / "env" / f"{host}.json")
    listed = value.get("gpus") if isinstance(value, dict) else None
    sizes = []
    for text in listed if isinstance(listed, list) else ():
        found = _MEMORY.findall(str(text)[:500])
        if found:
            amount, unit = found[-1]
            sizes.append(float(amount) * {"MiB": 1.0, "GiB": 1024.0, "GB": 1024.0}[unit])  # names say GB
    return min(sizes) if sizes and min(sizes) > 0 else None


def _names(folder: str, ending: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(ending))  # noqa: PTH208
    except OSError:
        return []


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _percent(value: float) -> float:
    return min(100.0, max(0.0, value))
