"""The measured rows of one series as rates, where more is better. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, stdev

from hackathon.scaling.table import grows_with_processes, lower_is_better, per_process
from hackathon.text.units import PER_PROCESS

WEAK, STRONG = "weak", "strong"
RATE, JOB, STEP, STEPS = "rate", "job", "step", "steps"
"""Meaning of a value: work per second; time of a fixed job; time of a step; steps per second.

A step's work grows with the processes. Rates of one process count like steps per second.
"""
TIMES = (JOB, STEP)
SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0,
    "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0, "マイクロ秒": 1e-6, "ミリ秒": 1e-3, "分": 60.0,
    "時間": 3600.0, "日": 86400.0,
}  # fmt: skip
"""Unit of a time → seconds; others are seconds."""


@dataclass(frozen=True)
class MeasuredSize:
    """The measurements of one size."""

    processes: int
    rate: float
    """Work per second in any unit; the median over repeats."""
    nodes: int | None = None
    """None means unknown."""
    repeats: int = 1
    deviation: float | None = None
    """Standard deviation over repeats ÷ rate; None without repeats."""
    value: float | None = None
    """The median in the series' own unit, as measured."""

    @property
    def cost(self) -> float:
        """Processes ÷ rate: the machine's effort for one unit of work. It cannot fall with more processes."""
        return self.processes / self.rate


@dataclass(frozen=True)
class Flag:
    """A flaw of one row."""

    processes: int
    kind: str
    """`slow fast inconsistent retrograde superlinear duplicate`."""
    size: float
    """Relative deviation of the rate, negative is slower."""

    def to_json(self) -> dict[str, object]:
        """Return the flag as in the JSON of a prediction."""
        return {"processes": self.processes, "kind": self.kind, "size": self.size}


@dataclass(frozen=True)
class Kin:
    """The subject of a series, to find similar studies; empty means unknown."""

    cluster: str = ""
    model: str = ""
    framework: str = ""


NOBODY = Kin()


@dataclass(frozen=True)
class Series:
    """Rows of one program on one machine, smallest first."""

    name: str | None
    mode: str
    unit: str
    rows: tuple[MeasuredSize, ...]
    kin: Kin = NOBODY
    meaning: str = RATE
    """RATE, JOB, STEP or STEPS: how a value of the series' own unit becomes a rate."""
    duplicates: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    """Assumptions about it, as ids of warnings."""
    capacity: int | None = None
    """Processes per node, if specified."""
    outliers: frozenset[int] = frozenset()
    """Sizes whose rows do not count."""

    @property
    def per_node(self) -> int | None:
        """Processes of a full node, None when nodes are unknown.

        Rows on several nodes determine it; rows inside one node are a lower bound. An outlier counts only without valid
        rows on several nodes: no valid row would be as dense.
        """
        placed = [row for row in self.rows if row.nodes]
        counted = [row for row in placed if row.processes not in self.outliers]
        if any((row.nodes or 1) > 1 for row in counted):
            placed = counted
        shares = [math.ceil(row.processes / (row.nodes or 1)) for row in placed]
        if not shares:
            return self.capacity
        several = any((row.nodes or 1) > 1 for row in placed)
        return max(shares) if several else max(*shares, self.capacity or 0)

    @property
    def second(self) -> float:
        """Seconds of the time in its unit: 0.001 of ms/step, 60 of samples/min."""
        parts = self.unit.strip().lower().split("/")
        words = parts[:1] if self.meaning in TIMES else [part for part in parts[1:] if f"/{part}" not in PER_PROCESS]
        return SECONDS.get(words[-1].strip(), 1.0) if words else 1.0

    @property
    def per_process(self) -> bool:
        """Whether its values are rates of one process."""
        return self.meaning == STEPS and self.unit.strip().lower().endswith(PER_PROCESS)

    @property
    def per_epoch(self) -> bool:
        """Whether its values are times of an epoch."""
        return self.meaning == JOB and "epoch" in self.unit.lower()

    def samples_per_second(self, value: float, processes: int, batch: float, epoch: float) -> float:
        """Return a value as samples per second; `batch`: samples of a step over all, `epoch`: of an epoch.

        Neither counts if values are rates of samples.
        """
        if self.meaning == RATE:
            return value / self.second
        if self.meaning == STEPS:
            return value / self.second * (processes if self.per_process else batch)
        return (epoch if self.per_epoch else batch) / (value * self.second)

    def placed(self, capacity: int | None) -> "Series":
        """Return the series with a specified capacity of a node: nodes are computed for rows without them."""
        if not capacity:
            return self
        rows = [replace(row, nodes=row.nodes or math.ceil(row.processes / capacity)) for row in self.rows]
        return replace(self, rows=tuple(rows), capacity=capacity)

    def value(self, rate: float, processes: int) -> float:
        """Return a rate in the series' own unit."""
        return rate / processes if self.meaning == STEPS else _converted(self.meaning, rate, processes)


@dataclass(frozen=True)
class MeasuredValue:
    """One line of a table."""

    processes: int
    value: float
    nodes: int | None = None
    repeat: str = ""


def series(
    name: str | None, mode: str, unit: str, measurements: Iterable[MeasuredValue], *, kin: Kin = NOBODY,
    notes: Sequence[str] = (), meaning: str = "",
) -> Series:  # fmt: skip
    """Return a series from its measurements in any order; values are positive and finite.

    `meaning`: of the values, by default from unit and mode. Measurements of one size are repeats: the median counts.
    Two of one repeat are reported as duplicates; equal ones count once, so that a line copied by mistake changes
    nothing.
    """
    groups: dict[tuple[int, int], list[MeasuredValue]] = {}
    for measurement in measurements:
        groups.setdefault((measurement.processes, measurement.nodes or 0), []).append(measurement)
    distinct = {size: _distinct(group) for size, group in sorted(groups.items())}
    if not meaning:
        meaning = _meaning(mode, unit, {size[0]: median(m.value for m in group) for size, group in distinct.items()})
        notes = [*notes, "job-time"] if mode == WEAK and meaning == JOB else notes
    rows, duplicates = [], []
    for (processes, nodes), group in distinct.items():
        rates = [_converted(meaning, measurement.value, processes) for measurement in group]
        middle = median(rates)
        deviation = stdev(rates) / middle if len(rates) > 1 else None
        rows.append(
            MeasuredSize(processes, middle, nodes or None, len(rates), deviation, median(m.value for m in group))
        )
        marks = [measurement.repeat for measurement in groups[processes, nodes]]
        if len(set(marks)) < len(marks):
            worst = max((rate / middle - 1 for rate in rates), key=abs)
            duplicates.append(Flag(processes, "duplicate", worst))
    return Series(name, mode, unit, tuple(rows), kin, meaning, tuple(duplicates), tuple(notes))


def _distinct(group: Sequence[MeasuredValue]) -> list[MeasuredValue]:
    """Return the measurements without exact copies of the same repeat."""
    return list({(measurement.repeat, measurement.value): measurement for measurement in group}.values())


def is_time(unit: str) -> bool:
    """Return whether a value of this unit is a time, where less is better."""
    return unit.strip().lower() == "step" or lower_is_better(unit)


def _meaning(mode: str, unit: str, values: Mapping[int, float]) -> str:
    """Return the meaning of the values. In weak scaling a time is that of a step, whose work grows with the processes.

    A time that falls nearly as fast as processes are added is that of a fixed job, such as an epoch.
    """
    if per_process(unit):
        return STEPS
    steps = mode == WEAK and ("step" in unit.lower() or grows_with_processes(unit))
    if not is_time(unit):
        return STEPS if steps else RATE
    if mode == STRONG:
        return JOB
    sizes = sorted(values)
    if steps or len(sizes) < 2:
        return STEP
    slope = math.log(values[sizes[-1]] / values[sizes[0]]) / math.log(sizes[-1] / sizes[0])
    return JOB if slope < -0.5 else STEP


def _converted(meaning: str, value: float, processes: int) -> float:
    """Return the rate for a value of this meaning; except for STEPS the same function converts back."""
    if meaning == STEPS:
        return value * processes
    return value if meaning == RATE else 1 / value if meaning == JOB else processes / value
