"""The curves of a run for its pages: from its Meter, else from its program's output."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.logs.metrics import curves_of, rank_of
from hackathon.logs.printed import printed_curves
from hackathon.logs.values import number
from hackathon.logs.words import EACH
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import OPEN
from hackathon.text.errors import RequestError
from hackathon.text.files import objects_of
from hackathon.text.messages import N_, _
from hackathon.web.page import sanitize as clean

_AXIS_TEXTS = {
    "seconds": N_("seconds since the start"),
    "minutes": N_("minutes since the start"),
    "step": N_("step"),
    "samples": N_("samples"),
    "order": N_("printed values"),
    "hours": N_("hours since the start"),
}

MOST_METRICS = 32 << 20
"""Bytes at the end of a Meter's file that are read."""
CURVES = 4
"""Metrics that are drawn."""
LARGEST = 1e100
"""Values beyond are not measurements, and their sums overflow."""
KEPT = 100
"""Runs whose printed curves are cached."""
AXES = ("time", "step", "samples")
"""Possible x axes of a Meter's curves; printed curves have their steps, else their order."""
SMOOTHED = (5, 20, 50)
"""Widths of the moving mean that a reader can choose."""

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class ChartWish:
    """A reader's options for curves."""

    x: str = "time"
    """One of AXES."""
    log: bool = False
    """Whether the value axis is logarithmic."""
    smooth: int = 1
    """Width of the moving mean; 1: none."""

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The options of an address for them."""
        return (
            ("x", self.x if self.x != "time" else ""),
            ("y", "log" if self.log else ""),
            ("smooth", str(self.smooth) if self.smooth > 1 else ""),
        )


AS_IT_IS = ChartWish()
"""The default options."""


def wish_of(options: Iterable[tuple[str, str]]) -> ChartWish:
    """Return the curve options of an address; others are ignored."""
    fields = dict(reversed([*options]))
    smooth = next((width for width in SMOOTHED if str(width) == fields.get("smooth")), 1)
    return ChartWish(fields["x"] if fields.get("x") in AXES else "time", fields.get("y") == "log", smooth)


@dataclass(frozen=True)
class RunCurves:
    """The curves of one run."""

    x: str = "time"
    """Their x axis: one of AXES; `step` or `order` for printed ones."""
    lines: tuple[tuple[str, Points], ...] = ()
    """(metric, points) of the drawn curves, the run's own metric first; over `time` in seconds since 1970."""
    printed: bool = False
    """Whether they come from the program's output."""
    problem: str = ""
    """Why its patterns found nothing."""


def run_curves(inside: GuardedFolder, run: RunEntry, wish: ChartWish, memory: Memory) -> RunCurves:
    """Return a run's curves: from the end of a Meter's file, or from logs as `logs.printed` reads them."""
    files = sorted((name for name in inside.names("metrics") if _is_meter(name)), key=lambda name: rank_of(Path(name)))
    ending = inside.end(f"metrics/{files[0]}", MOST_METRICS) if files else None
    if ending is not None:
        lines = ending[0].decode("utf-8", "replace").split("\n")
        curves = _metered(lines, wish.x)
        names = chosen(curves, run.metric)
        if names:
            return RunCurves(wish.x, tuple((name, curves[name]) for name in names))
    return _printed(inside, run, memory)


def _metered(lines: Sequence[str], x: str) -> dict[str, Points]:
    if x == "samples":
        rows = [line for line in objects_of(lines) if not line.get("final")]
        counts = [number(line.get("samples")) or 0.0 for line in rows]
        if not any(counts):
            return {}
        totals = accumulate(count if math.isfinite(count) else 0.0 for count in counts)
        raw = _over(rows, list(totals))
    else:
        raw = curves_of(lines, over="t" if x == "time" else "step")
    return {name: curve for name, points in raw.items() if len(curve := usable(points)) > 1}


def _over(rows: Sequence[dict[str, Any]], positions: Sequence[float]) -> dict[str, Points]:
    """Return the curves of a Meter's lines over the given positions, of the newest attempt."""
    newest = max((_attempt(line) for line in rows), default=1)
    first = next((position for line, position in zip(rows, positions, strict=True) if _attempt(line) == newest), 0.0)
    curves: dict[str, Points] = {}
    for line, position in zip(rows, positions, strict=True):
        if _attempt(line) != newest:
            continue
        for name, raw in line.items():
            value = number(raw) if name not in _NO_CURVES else None
            if value is not None:
                curves.setdefault(name, []).append((position - first, value))
    return curves


_NO_CURVES = frozenset({"t", "attempt", "final", "warmup", "rank", "samples", "seconds", "step"})


def _attempt(line: dict[str, Any]) -> float:
    value = number(line.get("attempt"))
    return value if value and math.isfinite(value) else 1.0


def _printed(inside: GuardedFolder, run: RunEntry, memory: Memory) -> RunCurves:
    directory = RunDirectory(Path(run.project) / "runs" / run.id)
    key = (str(directory.path), run.state in OPEN, *inside.facts(("logs", "request.json")))
    cached: RunCurves | None = memory.recall("printed curves", key)
    if cached is not None:
        return cached
    record = directory.known()
    try:
        printed = printed_curves(
            directory.path, record.metrics, processes=record.processes, over=run.state not in OPEN
        )  # fmt: skip
    except RequestError as error:
        return RunCurves(problem=clean.line(error.message))
    names = chosen(printed, run.metric, declared=record.metrics)
    stepped = all(_is_rising([step for step, _ in printed[name]]) for name in names)
    lines = [
        (name, usable([(step if stepped and step is not None else float(order), value)
                       for order, (step, value) in enumerate(printed[name], 1)]))
        for name in names
    ]  # fmt: skip
    curves = RunCurves(
        "step" if stepped else "order", tuple((name, points) for name, points in lines if len(points) > 1), bool(names)
    )
    memory.keep("printed curves", key, curves, KEPT)
    return curves


def _is_rising(steps: Sequence[float | None]) -> bool:
    numbers = [step for step in steps if step is not None]
    return len(numbers) == len(steps) and all(after > before for before, after in pairwise(numbers))


def _is_meter(name: str) -> bool:
    return name.startswith("rank-") and name.endswith(".jsonl") and rank_of(Path(name)) >= 0


def chosen(curves: Iterable[str], metric: str, *, declared: Iterable[str] = ()) -> list[str]:
    """Return which curves are drawn: the run's metric, losses, accuracies, then declared metrics."""
    names = [name for name in curves if not name.endswith("_share")]
    first = [name for name in names if name.removesuffix(EACH) == metric]
    losses = sorted(name for name in names if "loss" in name.lower() and name not in first)
    good = sorted(name for name in names if "acc" in name.lower() and name not in (*first, *losses))
    remaining = [name for name in names if name in set(declared) or name.removesuffix(EACH).endswith("_per_s")]
    return list(dict.fromkeys((*first, *losses, *good, *remaining)))[:CURVES]


def usable(points: Iterable[tuple[float, float]]) -> Points:
    """Return the points that can be drawn."""
    return [(x, y) for x, y in points if math.isfinite(x) and abs(x) < LARGEST and abs(y) < LARGEST]


def thinned(points: Points, most: int) -> Points:
    """Return at most about `most` points, each the mean of neighbouring ones."""
    size = -(-len(points) // most)
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(fmean(x for x, _ in part), fmean(y for _, y in part)) for part in parts]


def smoothed(points: Points, width: int) -> Points:
    """Return the points with the moving mean of the last `width` values, fewer at the beginning."""
    if width <= 1:
        return points
    sums = [0.0, *accumulate(y for _, y in points)]
    return [
        (x, (sums[end] - sums[max(0, end - width)]) / min(end, width)) for end, (x, _) in enumerate(points, 1)
    ]  # fmt: skip


def title_of(metric: str, unit: str) -> str:
    """Return the title of a curve."""
    titles = {"samples_per_s": N_("Throughput"), "loss": N_("Loss"), "accuracy": N_("Accuracy")}
    name = metric.removesuffix(EACH)
    words = _(titles[name]) if name in titles else clean.line(name, 80)
    words = _("{title}, one process", title=words) if metric.endswith(EACH) else words
    return f"{words} [{clean.line(unit, 40)}]" if unit else words


def axis_of(x: str) -> str:
    """Return the message id of an axis other than time."""
    return _AXIS_TEXTS[x]
