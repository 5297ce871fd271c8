"""Curves of a program's output: by the patterns of its metrics, and by the known formats.

A point is (step, value): the step in the line itself, None without one. Times are unknown, because most programs print
none.
"""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hackathon.logs.formats import FORMATS, Format, Speaker
from hackathon.logs.lines import read_lines
from hackathon.logs.metrics import CURVE, LONGEST, compiled_patterns, is_own, rank_files
from hackathon.logs.patterns import may_take_long
from hackathon.logs.values import number, whole
from hackathon.logs.words import ALL
from hackathon.runs.directory import guarded

MOST = 4 << 20
"""Bytes at the end of a log that are read for its curves."""
CURVES = 16
"""Curves of a run that are stored."""
_STEP = re.compile(
    r"(?i)(?<![a-z0-9_])(?:global[_ -]?)?(?:step|iteration|iter|ステップ|反復|イテレーション)s?"
    r"\s{0,2}[:=#]?\s{0,3}\[?\s{0,6}"
    r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?![\d]|\.\d|\s?(?:m?s(?:ec)?\b|/s))"
)

Points = list[tuple[float | None, float]]
"""(step, value) in the order printed."""


class Curve:
    """One curve in bounded memory: every second point is dropped when there are too many."""

    __slots__ = ("_every", "_seen", "points")

    def __init__(self) -> None:
        self.points: Points = []
        self._every, self._seen = 1, 0

    def add(self, step: float | None, value: float) -> None:
        """Add a point; values that are not finite are ignored."""
        if not math.isfinite(value):
            return
        if self._seen % self._every == 0:
            self.points.append((step, value))
            if len(self.points) >= CURVE:
                del self.points[1::2]
                self._every *= 2
        self._seen += 1


def step_of(line: str) -> float | None:
    """Return the step in a line (`step 20`, `iter: 300/1000`, `ステップ 5`), None without one."""
    match = _STEP.search(line[:LONGEST])
    return float(whole(match[1].replace(",", ""))) if match else None


def printed_curves(
    run: Path, patterns: Mapping[str, Mapping[str, Any]], *, processes: int, over: bool
) -> dict[str, Points]:
    """Return the curves in the logs of a run: metric → points, of two or more; at most CURVE each.

    Metrics with a `pattern` come first, of the first rank that printed one, without their `skip_first`; then the known
    formats. Of a long log the last MOST bytes count. Patterns of another user's run, and those that may take long, are
    searched in a separate process. Raises RequestError for a pattern that is invalid or takes too long.
    """
    searched = {name: dict(entry) for name, entry in patterns.items() if entry.get("pattern")}
    logs = [*rank_files(guarded(run) / "logs", ".log"), guarded(run) / "logs" / "job.log"]
    curves: dict[str, Points] = {}
    if searched and (not is_own(run) or any(may_take_long(str(entry["pattern"])) for entry in searched.values())):
        from hackathon.logs.pattern_reader import curves_apart

        curves = curves_apart(guarded(run), searched, over, len(logs) * MOST)
    elif searched:
        curves = found_by_patterns(run, searched, over)
    for name, points in _formatted(logs, processes, over).items():
        if name not in searched:
            curves.setdefault(name, points)
    drawable = {name: points for name, points in curves.items() if len(points) > 1}
    return {name: drawable[name] for name in list(drawable)[:CURVES]}


def found_by_patterns(run: Path, metrics: Mapping[str, Mapping[str, Any]], torn: bool) -> dict[str, Points]:
    """Return the patterns' curves, searched in this process without a time limit; like `printed_curves`."""
    compiled = compiled_patterns(metrics)
    by_name: dict[str, Points] = {}
    for path in [*rank_files(guarded(run) / "logs", ".log"), guarded(run) / "logs" / "job.log"]:
        missing = {name: expression for name, expression in compiled.items() if name not in by_name}
        if not missing:
            break
        curves = {name: Curve() for name in missing}
        left = {name: int(metrics[name].get("skip_first", 0)) for name in missing}
        step: float | None = None
        for text in read_lines(path, torn=torn, last=MOST):
            line = text[:LONGEST]
            named = step_of(line)
            for name, expression in missing.items():
                for match in expression.finditer(line):
                    value = number(match[1] if expression.groups else match[0])
                    if value is None:
                        continue
                    if left[name] > 0:
                        left[name] -= 1
                        continue
                    step = named
                    curves[name].add(step, value)
        by_name |= {name: curve.points for name, curve in curves.items() if curve.points}
    return by_name


class _Listener(Speaker):
    """A Speaker that stores every value, with the step of its line."""

    def __init__(self, *, shared: bool) -> None:
        super().__init__(shared=shared)
        self.curves: dict[tuple[str, str], Curve] = {}
        self._step: float | None = None

    def hear(self, lines: Iterable[str]) -> None:
        """Read lines."""
        for line in lines:
            self._step = step_of(line)
            self.read(line)

    def _take(self, rank: int, form: Format, numbers: Iterable[tuple[str, float]]) -> None:
        pairs = list(numbers)
        if pairs and (self._speaks is None or rank < self._speaks):
            self.curves.clear()
        super()._take(rank, form, pairs)
        for name, value in pairs:
            if (form.name, name) in self.values:  # otherwise there are too many names
                self.curves.setdefault((form.name, name), Curve()).add(self._step, value)


def _formatted(logs: Iterable[Path], processes: int, torn: bool) -> dict[str, Points]:
    """Return the curves of the known formats, from the first log with two values of one metric."""
    order = {form.name: position for position, form in enumerate(FORMATS)}
    formats = {form.name: form for form in FORMATS}
    for path in logs:
        listener = _Listener(shared=path.name == "job.log")
        listener.hear(read_lines(path, torn=torn, last=MOST))
        curves: dict[str, Points] = {}
        for (form, name), curve in sorted(listener.curves.items(), key=lambda entry: order[entry[0][0]]):
            factor = processes if name in formats[form].per_process else 1
            if not factor:  # the number of processes is unknown
                continue
            points = [(step, value * factor) for step, value in curve.points]
            curves.setdefault(name.removesuffix(ALL), points)
        if any(len(points) > 1 for points in curves.values()):
            return curves
    return {}
