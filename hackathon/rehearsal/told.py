"""Which line of a run's output contains which metric, so that a person can check the interpretation."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.logs.formats import FORMATS, WORDS, Speaker
from hackathon.logs.lines import read_lines
from hackathon.logs.metrics import LONGEST, METER, rank_files
from hackathon.logs.patterns import may_take_long
from hackathon.logs.values import number
from hackathon.logs.words import ALL, EACH
from hackathon.runs.directory import RunDirectory

STEPS_READ = 4 << 20
"""Bytes of a Meter's file in which lines are counted."""
LINES = 200_000
"""Lines of each log that are read."""


@dataclass(frozen=True)
class MetricPlace:
    """The first line that contains a metric."""

    file: str
    """Relative to the run: `logs/rank-0.log`."""
    line: int
    """Counted from 1; 0 if no line has it."""
    text: str
    by: str
    """`meter`, `recorder`, `pattern`, `words`, or the title of a framework's format."""


def recorded_place() -> MetricPlace:
    """Return the place of a metric that the recorder counted: no line of its file has it."""
    return MetricPlace("steps/rank-0.json", 0, "", "recorder")


def places(run: RunDirectory, patterns: Mapping[str, Mapping[str, Any]]) -> dict[str, MetricPlace]:
    """Return metric → the first line that contains it, with the priorities of `logs.metrics.read_metrics`.

    The project's patterns come first, then the Meter, then the known formats. Patterns that may take long are skipped.
    """
    return _by_formats(run) | _by_meter(run) | _by_patterns(run, _own(patterns))


def _own(patterns: Mapping[str, Mapping[str, Any]]) -> dict[str, re.Pattern[str]]:
    """Return metric → the project's pattern for it, without patterns that may take long."""
    return {
        name: re.compile(str(entry["pattern"]))
        for name, entry in patterns.items()
        if entry.get("pattern") and not may_take_long(str(entry["pattern"]))
    }


def counted(run: RunDirectory) -> int:
    """Return how many lines of the first log with metrics match a known format or a project's pattern.

    Of the patterns, the one with the most matches counts, without the values that its metric skips at the start.
    """
    metrics = run.known().metrics
    own = _own(metrics)
    for _, lines in _logs(run):
        speaker = Speaker(FORMATS)
        count = 0
        counts = {name: -int(metrics[name].get("skip_first", 0)) for name in own}
        for line in lines:
            before = _seen(speaker)
            speaker.read(line)
            count += _seen(speaker) > before
            for name, pattern in own.items():
                counts[name] += _has_number(pattern, line[:LONGEST])
        if most := max(count, *counts.values(), 0):
            return most
    return 0


def _has_number(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a pattern finds a number, by the rules of `logs.metrics.scan`."""
    return any(number(match[1] if pattern.groups else match[0]) is not None for match in pattern.finditer(text))


def _seen(speaker: Speaker) -> int:
    """Return how many values a speaker has read."""
    return max((every.taken for every, _ in speaker.values.values()), default=0)


def _logs(run: RunDirectory) -> Iterator[tuple[str, Iterator[str]]]:
    for path in [*rank_files(run.path / "logs", ".log"), run.path / "logs" / "job.log"]:
        if path.is_file():
            yield (
                f"logs/{path.name}",
                (line for _, line in zip(range(LINES), read_lines(path, torn=True), strict=False)),
            )


def _by_formats(run: RunDirectory) -> dict[str, MetricPlace]:
    titles = {form.name: form.title for form in FORMATS} | {WORDS.name: "words"}
    sources: dict[tuple[str, str], MetricPlace] = {}
    for name, lines in _logs(run):
        speaker = Speaker(FORMATS, shared=name == "logs/job.log")
        for at, line in enumerate(lines, 1):
            speaker.read(line)
            for form, metric in speaker.values.keys() - sources.keys():
                sources[form, metric] = MetricPlace(name, at, line, titles[form])
        if sources:
            break
    order = [form.name for form in FORMATS]
    metrics: dict[str, MetricPlace] = {}
    for (form, metric), source in sorted(sources.items(), key=lambda entry: order.index(entry[0][0])):
        metrics.setdefault(metric.removesuffix(EACH).removesuffix(ALL) if form == WORDS.name else metric, source)
    return metrics


def _by_meter(run: RunDirectory) -> dict[str, MetricPlace]:
    import json

    sources: dict[str, MetricPlace] = {}
    for path in rank_files(run.path / "metrics", ".jsonl")[:1]:
        for at, line in enumerate(read_lines(path, torn=True, last=METER), 1):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            for metric in value if isinstance(value, dict) else ():
                sources.setdefault(str(metric), MetricPlace(f"metrics/{path.name}", at, line, "meter"))
    return sources


def _by_patterns(run: RunDirectory, own: Mapping[str, re.Pattern[str]]) -> dict[str, MetricPlace]:
    sources: dict[str, MetricPlace] = {}
    for name, lines in _logs(run):
        missing = {metric: pattern for metric, pattern in own.items() if metric not in sources}
        if not missing:
            break
        for at, line in enumerate(lines, 1):
            for metric, pattern in missing.items():
                if metric not in sources and pattern.search(line[:LONGEST]):
                    sources[metric] = MetricPlace(name, at, line, "pattern")
    return sources
