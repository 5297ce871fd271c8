"""Rank the consumers of time: operators by their own time, kernels, and gaps without computing."""

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hackathon.profiling.shares import rounded
from hackathon.profiling.traces.intervals import within
from hackathon.profiling.traces.kinds import Kind, uses_tensor_cores
from hackathon.profiling.traces.reckoning import SECOND, RankTime
from hackathon.profiling.traces.trace import Trace, TraceStep

SHOWN = 10
"""Operators, kernels and gaps that are listed."""


@dataclass(frozen=True)
class Activity:
    """An operator or a kernel, as the mean over ranks and steps."""

    name: str
    calls: float
    """Per step."""
    seconds: float
    """Per step; for an operator without those that it calls."""
    tensor_cores: bool = False
    """Whether its name is that of a kernel that uses Tensor Cores."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"name": self.name, "calls": rounded(self.calls), "seconds": rounded(self.seconds)}


@dataclass(frozen=True)
class Gap:
    """A time in which the device, or without one the program's main thread, computed nothing."""

    rank: int
    step: int
    begin: float
    """Seconds since the start of the step."""
    seconds: float
    after: str
    """The last operator that had ended on the main thread, empty without one."""
    before: str
    """The next operator that began there."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "rank": self.rank, "step": self.step, "begin": rounded(self.begin), "seconds": rounded(self.seconds),
            "after": self.after or None, "before": self.before or None,
        }  # fmt: skip


def operators(traces: Mapping[int, Trace], times: Mapping[int, RankTime]) -> list[Activity]:
    """Return the operators with the most CPU time of their own, the first SHOWN."""
    return _mean((_own_time(trace, times[rank]) for rank, trace in traces.items()), times)


def kernels(traces: Mapping[int, Trace], times: Mapping[int, RankTime]) -> list[Activity]:
    """Return all kernels except collectives, sorted by time."""
    return _mean((_kernel_time(trace, times[rank]) for rank, trace in traces.items()), times, most=None)


_Spent = dict[str, tuple[int, float]]
"""Name → (calls, seconds) over all steps of one rank."""


def _mean(spent: Iterator[_Spent], times: Mapping[int, RankTime], most: int | None = SHOWN) -> list[Activity]:
    calls: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for amounts, time in zip(spent, times.values(), strict=True):
        for name, (count, took) in amounts.items():
            calls[name] = calls.get(name, 0.0) + count / len(time.steps) / len(times)
            seconds[name] = seconds.get(name, 0.0) + took / len(time.steps) / len(times)
    order = sorted(seconds, key=lambda name: -seconds[name])[:most]
    return [Activity(name, calls[name], seconds[name], uses_tensor_cores(name)) for name in order]


def _window(time: RankTime) -> tuple[float, float]:
    return time.steps[0].begin, time.steps[-1].end


def _own_time(trace: Trace, time: RankTime) -> _Spent:
    """Return the time of each operator without nested operators on the same thread."""
    begin, end = _window(time)
    totals: dict[int, list[float]] = {}
    lanes: dict[int, list[int]] = {}
    for number in trace.of(Kind.OPERATOR, Kind.BLOCKING):
        if begin <= trace.begins[number] < end:
            lanes.setdefault(trace.lane_of[number], []).append(number)
    for members in lanes.values():
        members.sort(key=lambda number: (trace.begins[number], -trace.ends[number]))
        open_ones: list[int] = []
        for number in members:
            while open_ones and trace.ends[open_ones[-1]] <= trace.begins[number]:
                open_ones.pop()
            took = trace.ends[number] - trace.begins[number]
            entry = totals.setdefault(trace.name_of[number], [0, 0.0])
            entry[0] += 1
            entry[1] += took
            if open_ones:
                outer = open_ones[-1]
                inside = min(trace.ends[number], trace.ends[outer]) - trace.begins[number]
                totals[trace.name_of[outer]][1] -= inside
            open_ones.append(number)
    return {trace.names[name]: (int(count), max(0.0, took) / SECOND) for name, (count, took) in totals.items()}


def _kernel_time(trace: Trace, time: RankTime) -> _Spent:
    begin, end = _window(time)
    totals: _Spent = {}
    for number in trace.of(Kind.KERNEL):
        if begin <= trace.begins[number] < end:
            count, took = totals.get(trace.name(number), (0, 0.0))
            totals[trace.name(number)] = count + 1, took + (trace.ends[number] - trace.begins[number]) / SECOND
    return totals


def gaps(traces: Mapping[int, Trace], times: Mapping[int, RankTime]) -> list[Gap]:
    """Return the longest gaps of all ranks: the times of the part "host"."""
    longest: list[tuple[float, int, TraceStep, float]] = []
    for rank, time in times.items():
        begins = [step.begin for step in time.steps]
        inside = within(time.parts["host"], [(step.begin, step.end) for step in time.steps])
        all_of_rank = (
            (end - begin, rank, time.steps[bisect_right(begins, begin) - 1], begin) for begin, end in inside
        )  # fmt: skip
        longest = heapq.nlargest(SHOWN, [*longest, *heapq.nlargest(SHOWN, all_of_rank, key=_took)], key=_took)
    around = {rank: _main_operators(traces[rank]) for rank in {rank for _, rank, _, _ in longest}}
    rows = []
    for took, rank, step, begin in longest:
        began, ended = around[rank]
        after = bisect_right(ended, (begin + 1e-3, "\U0010ffff"))
        before = bisect_left(began, (begin + took - 1e-3, ""))
        left = ended[after - 1][1] if after else ""
        right = began[before][1] if before < len(began) else ""
        rows.append(Gap(rank, step.number, (begin - step.begin) / SECOND, took / SECOND, left, right))
    return rows


def _took(gap: tuple[float, int, TraceStep, float]) -> float:
    return gap[0]


def _main_operators(trace: Trace) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """Return (begin, name) and (end, name) of the main thread's operators, each in order."""
    kinds = (Kind.OPERATOR, Kind.BLOCKING, Kind.LOADER)
    numbers = [number for number in trace.of(*kinds) if trace.lane_of[number] == trace.main]
    begins = sorted((trace.begins[number], trace.name(number)) for number in numbers)
    return begins, sorted((trace.ends[number], trace.name(number)) for number in numbers)
