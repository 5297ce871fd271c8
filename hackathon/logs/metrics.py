"""Numbers of a run: from what the runtime's Meter wrote and from what programs print."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from hackathon.logs.formats import read_formats
from hackathon.logs.lines import read_lines
from hackathon.logs.values import Values, number
from hackathon.text.errors import RequestError
from hackathon.text.files import read_json

CURVE = 2000
"""Points of a curve that are held."""

LONGEST = 4000
"""Letters of a line in which patterns are looked for: some take as long as the square of a line's length."""
_BOOKKEEPING = frozenset({"t", "attempt", "final", "warmup", "rank", "samples", "seconds"})


def rank_of(path: Path) -> int:
    """Return the rank in a name such as `rank-12.log`; -1 when there is none."""
    match = re.search(r"rank-(\d{1,9})\.", path.name)
    return int(match[1]) if match else -1


def rank_files(folder: Path, suffix: str) -> list[Path]:
    """Return `rank-<n><suffix>` of a folder in the order of ranks."""
    return sorted((path for path in folder.glob(f"rank-*{suffix}") if rank_of(path) >= 0), key=rank_of)


def read_metrics(
    run: Path, patterns: Mapping[str, Mapping[str, Any]], metric: str, attempt: int | None = None
) -> dict[str, float]:
    """Return the final numbers of a run by metric name; NaN and infinities stay, for they are results too.

    `metrics/rank-*.jsonl` first (rank 0 speaks): the final line wins, else the median over the intervals behind the
    warm-up for `metric` and everything per second, the last value for others; `attempt` None is the newest.
    A metric with a `pattern` (fields of config.recipe.Metric) is then looked for in the logs and replaces the former.
    Where the Meter wrote nothing, the logs are read for the formats that are known (`hackathon.logs.formats`) too.
    Memory does not grow with the logs. Raises RequestError for a pattern that is not a regular expression.
    """
    found = from_meter = _from_meter(run, metric, attempt)
    wanted = {name: dict(entry) for name, entry in patterns.items() if entry.get("pattern")}
    compiled = {name: _compile(name, str(entry["pattern"])) for name, entry in wanted.items()}
    if wanted:
        found = found | _from_logs(run, wanted, compiled)
    if not from_meter:
        known = {name: value for name, value in _from_formats(run).items() if name not in wanted}
        found = known | found
    return found


def final_texts(run: Path) -> dict[str, str]:
    """Return what the newest attempt told at its end in words, such as the digest of its weights; name → text."""
    found: dict[str, str] = {}
    for fresh, line in _attempt_lines(run, None):
        if fresh:
            found = {}
        if line.get("final"):
            found |= {name: value for name, value in line.items() if isinstance(value, str) and number(value) is None}
    return found


def series(run: Path, attempt: int | None = None) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of a run: metric name → (step, value), at most CURVE points each, evenly thinned.

    The newest attempt unless one is named; warm-up is part of a curve, values that are not finite are left out.
    """
    files = rank_files(run / "metrics", ".jsonl")
    return curves_of(read_lines(files[0], torn=True) if files else (), attempt)


def curves_of(
    lines: Iterable[str], attempt: int | None = None, over: str = "step"
) -> dict[str, list[tuple[float, float]]]:
    """Return the curves in the lines of a Meter's file, as `series` does, over the field `over`: `step`, or time `t`.

    Lines without that field count as one more each.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    every: dict[str, int] = {}
    seen: dict[str, int] = {}
    for fresh, line in _of_attempt(lines, attempt):
        if fresh:
            curves, every, seen = {}, {}, {}
        if line.get("final"):
            continue
        for name, value in _numbers(line):
            count = seen[name] = seen.get(name, -1) + 1
            if name == "step" or not math.isfinite(value) or count % every.setdefault(name, 1):
                continue
            step = number(line.get(over))
            points = curves.setdefault(name, [])
            points.append((step if step is not None else float(count), value))
            if len(points) >= CURVE:
                del points[1::2]
                every[name] *= 2
    return curves


def _attempt_lines(run: Path, attempt: int | None) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield (a new attempt begins, line) of the rank that speaks; lines of other or older attempts are passed over."""
    files = rank_files(run / "metrics", ".jsonl")
    yield from _of_attempt(read_lines(files[0], torn=True) if files else (), attempt)


def _of_attempt(lines: Iterable[str], attempt: int | None) -> Iterator[tuple[bool, dict[str, Any]]]:
    current = attempt
    for text in lines:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(line, dict):
            continue
        its = int(number(line.get("attempt")) or 1)
        if attempt is not None and its != attempt:
            continue
        if current is not None and its < current:
            continue
        yield attempt is None and its != current, line
        current = its


def _numbers(line: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, raw in line.items():
        if name not in _BOOKKEEPING and (value := number(raw)) is not None:
            yield name, value


def _from_meter(run: Path, metric: str, attempt: int | None) -> dict[str, float]:
    intervals: dict[str, Values] = {}
    final: dict[str, float] = {}
    for fresh, line in _attempt_lines(run, attempt):
        if fresh:
            intervals, final = {}, {}
        if line.get("final"):
            final |= dict(_numbers(line))
        elif not line.get("warmup"):
            for name, value in _numbers(line):
                intervals.setdefault(name, Values()).add(value)
    found = {}
    for name, values in intervals.items():
        reduced = values.reduce("median" if name == metric or name.endswith(("_per_s", "_per_sec")) else "last")
        if reduced is not None:
            found[name] = reduced
    return found | final


def _compile(name: str, pattern: str) -> re.Pattern[str]:
    from hackathon.logs.patterns import may_never_end

    try:
        found = re.compile(pattern)
        endless = may_never_end(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise RequestError("logs.bad_pattern", name=name, pattern=pattern, error=error) from None
    if endless:
        raise RequestError("logs.endless_pattern", name=name, pattern=pattern)
    return found


def _from_logs(
    run: Path, wanted: Mapping[str, Mapping[str, Any]], compiled: Mapping[str, re.Pattern[str]]
) -> dict[str, float]:
    """Return what the patterns find in the ranks' logs; `job.log` is read for what no rank printed."""
    ended = (run / "final.json").exists()
    parts: dict[str, list[float]] = {name: [] for name in wanted}
    job_log = run / "logs" / "job.log"
    for path in [*rank_files(run / "logs", ".log"), job_log]:
        open_names = [
            name
            for name, entry in wanted.items()
            if not parts[name] or (entry.get("ranks", "first") != "first" and path != job_log)
        ]
        if not open_names:
            continue
        values = {name: Values(int(wanted[name].get("skip_first", 0))) for name in open_names}
        _scan(read_lines(path, torn=ended), {name: compiled[name] for name in open_names}, values)
        for name, kept in values.items():
            reduced = kept.reduce(str(wanted[name].get("reduce", "last")))
            if reduced is not None:
                parts[name].append(reduced)
    return {name: _over_ranks(each, wanted[name].get("ranks", "first")) for name, each in parts.items() if each}


def _from_formats(run: Path) -> dict[str, float]:
    """Return what the known formats tell, of a program that does not use the Meter."""
    request = read_json(run / "request.json")
    processes = number(request.get("processes")) if isinstance(request, dict) else None
    return read_formats(
        rank_files(run / "logs", ".log"),
        run / "logs" / "job.log",
        [run / "source", run],
        processes=int(processes or 1),
        torn=(run / "final.json").exists(),
    )


def _over_ranks(values: list[float], how: object) -> float:
    if how == "sum":
        return sum(values)
    return fmean(values) if how == "mean" else values[0]


def _scan(lines: Iterable[str], compiled: Mapping[str, re.Pattern[str]], values: Mapping[str, Values]) -> None:
    pairs = [(pattern, pattern.groups, values[name]) for name, pattern in compiled.items()]
    for whole in lines:
        line = whole[:LONGEST]
        for pattern, groups, kept in pairs:
            # Most lines hold none, and a search says so faster than an iterator.
            if pattern.search(line) is None:
                continue
            for match in pattern.finditer(line):
                value = number(match[1] if groups else match[0])
                if value is not None:
                    kept.add(value)
