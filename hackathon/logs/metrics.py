"""Extract a run's numbers from the runtime's Meter files and from programs' output."""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hackathon.logs.formats import read_formats
from hackathon.logs.lines import read_lines
from hackathon.logs.patterns import may_never_end, may_take_long
from hackathon.logs.values import NumberStream, number
from hackathon.runs.directory import guarded
from hackathon.runs.events import job_events
from hackathon.text.errors import RequestError
from hackathon.text.files import objects_of
from hackathon.text.numbers import integer

if TYPE_CHECKING:
    from hackathon.logs.meter_files import MeterFiles

CURVE = 2000
"""Points of a curve that are stored."""

METER = 64 << 20
"""Bytes at the end of a Meter's file that are read for its numbers: half a million lines and more."""
METER_LINES, PATTERN, PRINTED = "meter", "pattern", "printed"
"""Sources of a number: the Meter's lines, a metric's own pattern, a known format in the output."""
LATEST = 1 << 31
"""Attempts below this are plain whole numbers."""
LONGEST = 4000
"""Characters of a line that patterns read: some take as long as the square of a line's length."""
_BOOKKEEPING = frozenset({"t", "attempt", "final", "warmup", "rank", "samples", "seconds"})


def rank_of(path: Path) -> int:
    """Return the rank in a name such as `rank-12.log`; -1 without one."""
    match = re.search(r"rank-(\d{1,9})\.", path.name)
    return int(match[1]) if match else -1


def rank_files(folder: Path, suffix: str) -> list[Path]:
    """Return `rank-<n><suffix>` of a folder in the order of ranks."""
    return sorted((path for path in folder.glob(f"rank-*{suffix}") if rank_of(path) >= 0), key=rank_of)


def read_metrics(
    run: Path,
    patterns: Mapping[str, Mapping[str, Any]],
    metric: str,
    attempt: int | None = None,
    *,
    processes: int = 1,
    torn: bool = True,
    readable: Callable[[int], bool] = lambda size: True,
    sure: dict[str, str] | None = None,
    origins: dict[str, str] | None = None,
    meters: "MeterFiles | None" = None,
) -> dict[str, float]:
    """Return the final numbers of a run by metric name, including NaN and infinities: they are results too.

    `metrics/rank-*.jsonl` come first (rank 0 counts): the final line, else the median over the intervals after the
    warm-up for `metric` and everything per second, the last value for others; `attempt` None is the newest. Of a
    Meter's file above METER bytes only its end counts, for every caller. A metric with a `pattern` (fields of
    config.recipe.Metric) is then searched in the logs and replaces the Meter's. Without Meter files, the logs are also
    read for known formats (`hackathon.logs.formats`). `processes`: of the run, for formats with numbers of one process;
    0 if unknown, which omits such numbers. `torn`: last lines of logs are complete even without a line end, because the
    run is over. `readable` is called with the bytes of all logs before they are read. `sure` receives metric → how
    reliable it is (`logs.formats.read_formats`), if known; `origins` metric → its source, METER_LINES, PATTERN or
    PRINTED. `meters`: the Meters' files, if the caller has read them.
    Memory does not grow with the logs. Patterns of another user's run, and those that may take long, are searched in a
    separate process. Raises RequestError for a pattern that is not a regular expression or takes too long.
    """
    numbers = from_meter = _from_meter(run, metric, attempt, meters)
    source_of = {} if origins is None else origins
    source_of |= dict.fromkeys(numbers, METER_LINES)
    searched = {name: dict(entry) for name, entry in patterns.items() if entry.get("pattern")}
    if not searched and from_meter:
        return numbers
    apart = bool(searched) and not is_own(run)  # not even compiled in this process, because that may take long, too
    compiled = {} if apart else compiled_patterns(searched)
    size = _size(guarded(run) / "logs")
    if not readable(size):
        return numbers
    if apart or any(map(may_take_long, (str(entry["pattern"]) for entry in searched.values()))):
        from hackathon.logs.pattern_reader import found_apart

        by_pattern = found_apart(guarded(run), searched, torn, size)
    else:
        by_pattern = _from_logs(run, searched, compiled, torn) if searched else {}
    numbers = numbers | by_pattern
    source_of |= dict.fromkeys(by_pattern, PATTERN)
    if not from_meter:
        formats, grades = read_formats(
            rank_files(guarded(run) / "logs", ".log"),
            guarded(run) / "logs" / "job.log",
            [guarded(run) / "source", guarded(run)],
            processes=processes,
            torn=torn,
        )
        printed = {name: value for name, value in formats.items() if name not in searched and name not in numbers}
        numbers = printed | numbers
        source_of |= dict.fromkeys(printed, PRINTED)
        if sure is not None:
            sure |= {name: how for name, how in grades.items() if name not in searched}
    return numbers


def is_own(run: Path) -> bool:
    """Return whether a run is this user's, so that its patterns are, too."""
    try:
        return guarded(run).stat().st_uid == os.geteuid()
    except OSError:
        return False


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder; 0 when it is unreadable."""
    try:
        return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    except OSError:
        return 0


def final_texts(run: Path) -> dict[str, str]:
    """Return the final texts of the newest attempt, such as the digest of its weights; name → text."""
    texts: dict[str, str] = {}
    for fresh, line in _attempt_lines(run, None):
        if fresh:
            texts = {}
        if line.get("final"):
            texts |= {name: value for name, value in line.items() if isinstance(value, str) and number(value) is None}
    return texts


def series(run: Path, attempt: int | None = None) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of a run: metric name → (step, value), at most CURVE points each, evenly thinned.

    Of the newest attempt by default; the warm-up is included, values that are not finite are omitted.
    """
    files = rank_files(guarded(run) / "metrics", ".jsonl")
    return curves_of(read_lines(files[0], torn=True) if files else (), attempt)


def joined_series(runs: Sequence[Path]) -> dict[str, list[tuple[float, float]]]:
    """Return the curves of consecutive runs of one training: metric name → (step, value).

    If a later run, or a later attempt of one, repeats steps, because it started from an earlier checkpoint, its values
    count. The program must count its steps over the whole training (`meter.step(step=…)`): if each run's meter begins
    at 1, only the last run's curve remains.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for attempt in _attempts(run):
            for name, points in series(run, attempt).items():
                first = points[0][0]
                curves[name] = [point for point in curves.get(name, []) if point[0] < first] + points
    return curves


def _attempts(run: Path) -> list[int | None]:
    """Return the attempts of a run that was requeued; None, the newest one, for others."""
    started = {integer(event.get("attempt")) for event in job_events(run) if event.get("event") == "started"}
    attempts = sorted(attempt for attempt in started if attempt is not None)
    return [*attempts] if len(attempts) > 1 else [None]


def timed_series(run: Path, metric: str, *, over: bool, counted: bool) -> list[tuple[float, float]]:
    """Return a metric of the newest attempt's Meter: (seconds since 1970, value), at most CURVE points.

    Values that are not finite stay: they show that a training diverged. `over`: the run has ended. `counted`: instead
    of its time, the number of earlier values.
    """
    files = rank_files(guarded(run) / "metrics", ".jsonl")
    lines = read_lines(files[0], torn=over, last=METER) if files else ()
    return curves_of(lines, over="" if counted else "t", finite=False).get(metric, [])


def printed_series(run: Path, metric: str, entry: Mapping[str, Any], *, over: bool, most: int) -> list[float]:
    """Return every value that a metric's pattern matches in the log of the first rank with one, in order.

    [] for logs above `most` bytes, for another user's run and for a pattern that may take long: these are searched only
    once, at the end. Raises RequestError for one that is not a regular expression.
    """
    pattern = str(entry.get("pattern") or "")
    if not pattern or not is_own(run) or may_take_long(pattern) or _size(guarded(run) / "logs") > most:
        return []
    compiled = compiled_patterns({metric: entry})
    for path in [*rank_files(guarded(run) / "logs", ".log"), guarded(run) / "logs" / "job.log"]:
        every = _EveryValue()
        scan(read_lines(path, torn=over), compiled, {metric: every})
        if every.values:
            return every.values[int(entry.get("skip_first", 0)) :]
    return []


class _EveryValue(NumberStream):
    """A stream that stores all its values."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self.values.append(value)


def curves_of(
    lines: Iterable[str], attempt: int | None = None, over: str = "step", *, finite: bool = True
) -> dict[str, list[tuple[float, float]]]:
    """Return the curves in a Meter's lines, like `series`, over the field `over`: `step`, or time `t`.

    Lines without that field count as one more each. `finite`: omit values that are not.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    every: dict[str, int] = {}
    counts: dict[str, int] = {}
    for fresh, line in _of_attempt(objects_of(lines), attempt):
        if fresh:
            curves, every, counts = {}, {}, {}
        if line.get("final"):
            continue
        for name, value in _numbers(line):
            count = counts[name] = counts.get(name, -1) + 1
            if name == "step" or (finite and not math.isfinite(value)) or count % every.setdefault(name, 1):
                continue
            step = number(line.get(over))
            points = curves.setdefault(name, [])
            points.append((step if step is not None else float(count), value))
            if len(points) >= CURVE:
                del points[1::2]
                every[name] *= 2
    return curves


def _attempt_lines(
    run: Path, attempt: int | None, meters: "MeterFiles | None" = None
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield (a new attempt begins, line) of the rank that counts; lines of other or older attempts are skipped."""
    files = rank_files(guarded(run) / "metrics", ".jsonl") if meters is None else meters.files
    return _of_attempt(_meter_lines(files[0], METER, meters) if files else (), attempt)


def newest_lines(file: Path, most: int, meters: "MeterFiles | None") -> list[dict[str, Any]]:
    """Return the lines of the newest attempt among the last `most` bytes of a Meter's file; [] without any."""
    entries: list[dict[str, Any]] = []
    for fresh, line in _of_attempt(_meter_lines(file, most, meters), None):
        if fresh:
            entries = []
        entries.append(line)
    return entries


def _meter_lines(file: Path, most: int, meters: "MeterFiles | None") -> Iterable[dict[str, Any]]:
    entries = meters.objects(file, most) if meters is not None else None
    return entries if entries is not None else objects_of(read_lines(file, torn=True, last=most))


def _of_attempt(lines: Iterable[dict[str, Any]], attempt: int | None) -> Iterator[tuple[bool, dict[str, Any]]]:
    current = attempt
    for line in lines:
        written = line.get("attempt")
        its = written if type(written) is int and 0 < written < LATEST else _attempt(written)  # nearly all of them are
        if attempt is not None and its != attempt:
            continue
        if current is not None and its < current:
            continue
        yield attempt is None and its != current, line
        current = its


def _attempt(written: object) -> int:
    value = number(written)
    return int(value) if value and math.isfinite(value) else 1


def _numbers(line: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, raw in line.items():
        if name not in _BOOKKEEPING and (value := number(raw)) is not None:
            yield name, value


def _from_meter(run: Path, metric: str, attempt: int | None, meters: "MeterFiles | None") -> dict[str, float]:
    rates: dict[str, NumberStream] = {}
    per_second: dict[str, bool] = {}
    """Name → whether its median counts; determined once per name, not once per line."""
    numbers: dict[str, float] = {}
    final: dict[str, float] = {}
    for fresh, line in _attempt_lines(run, attempt, meters):
        if fresh:
            rates, numbers, final = {}, {}, {}
        if line.get("final"):
            final |= dict(_numbers(line))
        elif not line.get("warmup"):
            for name, raw in line.items():
                if name in _BOOKKEEPING:
                    continue
                value = raw if type(raw) is float else number(raw)  # nearly all of them are
                if value is None:
                    continue
                numbers[name] = value
                if (rate := per_second.get(name)) is None:
                    rate = per_second[name] = name == metric or name.endswith(("_per_s", "_per_sec"))
                if rate:
                    if name not in rates:
                        rates[name] = NumberStream()
                    rates[name].add(value)
    medians = {name: value for name, values in rates.items() if (value := values.reduce("median")) is not None}
    return numbers | medians | final


def found_by_patterns(run: Path, metrics: Mapping[str, Mapping[str, Any]], torn: bool) -> dict[str, float]:
    """Search metrics with a pattern in the logs of a run, in this process without a time limit; like read_metrics.

    Raises RequestError for a pattern that is not a regular expression.
    """
    return _from_logs(run, metrics, compiled_patterns(metrics), torn)


def compiled_patterns(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, re.Pattern[str]]:
    """Return metric → its expression. Raises RequestError for an invalid one and for one that may search forever."""
    return {name: _compile(name, str(entry["pattern"])) for name, entry in metrics.items()}


def _compile(name: str, pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern)
        endless = may_never_end(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise RequestError("logs.bad_pattern", name=name, pattern=pattern, error=error) from None
    if endless:
        raise RequestError("logs.endless_pattern", name=name, pattern=pattern)
    return expression


def _from_logs(
    run: Path, metrics: Mapping[str, Mapping[str, Any]], compiled: Mapping[str, re.Pattern[str]], torn: bool
) -> dict[str, float]:
    """Return the patterns' values in the ranks' logs; `job.log` supplies those that no rank printed."""
    parts: dict[str, list[float]] = {name: [] for name in metrics}
    job_log = guarded(run) / "logs" / "job.log"
    for path in [*rank_files(guarded(run) / "logs", ".log"), job_log]:
        open_names = [
            name
            for name, entry in metrics.items()
            if not parts[name] or (entry.get("ranks", "first") != "first" and path != job_log)
        ]
        if not open_names:
            continue
        values = {name: NumberStream(int(metrics[name].get("skip_first", 0))) for name in open_names}
        scan(read_lines(path, torn=torn), {name: compiled[name] for name in open_names}, values)
        for name, stream in values.items():
            reduced = stream.reduce(str(metrics[name].get("reduce", "last")))
            if reduced is not None:
                parts[name].append(reduced)
    return {
        name: _over_ranks(numbers, metrics[name].get("ranks", "first")) for name, numbers in parts.items() if numbers
    }


def _over_ranks(values: list[float], how: object) -> float:
    if how == "sum":
        return sum(values)
    return fmean(values) if how == "mean" else values[0]


def scan(lines: Iterable[str], compiled: Mapping[str, re.Pattern[str]], values: Mapping[str, NumberStream]) -> None:
    """Add the patterns' values in lines to the streams with the same names: the first group, or the whole match."""
    pairs = [(pattern, pattern.groups, values[name]) for name, pattern in compiled.items()]
    for text in lines:
        line = text[:LONGEST]
        for pattern, groups, stream in pairs:
            # Most lines have no match, and a search shows that faster than an iterator.
            if pattern.search(line) is None:
                continue
            for match in pattern.finditer(line):
                value = number(match[1] if groups else match[0])
                if value is not None:
                    stream.add(value)
