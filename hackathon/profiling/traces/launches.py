"""Assign kernels to operators, and so sum the device time of operators.

Kineto gives a kernel the `External id` of the innermost operator at its launch, and the `correlation` of the runtime
call that launched it. The id takes precedence; if it names no operator, the operator around that call counts. A kernel
with neither, such as one of a CUDA graph, belongs to no operator and is reported as such.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from hackathon.profiling.shares import rounded
from hackathon.profiling.traces.kinds import Kind
from hackathon.profiling.traces.reckoning import SECOND, RankTime
from hackathon.profiling.traces.trace import Trace

SHOWN = 10
"""Operators that are listed."""
NOBODY = -1
NEARLY_ALL = 0.99
NEAR = 1000
"""Operators before a runtime call among which the enclosing one is searched."""


@dataclass(frozen=True)
class DeviceOperator:
    """An operator by the kernels that it launched itself, as the mean over ranks and steps."""

    name: str
    kernels: float
    """Per step."""
    seconds: float
    """Seconds of these kernels per step."""
    share: float
    """Share of the time of all kernels except collectives, 0…1."""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "name": self.name, "kernels": rounded(self.kernels), "seconds": rounded(self.seconds),
            "share": rounded(self.share),
        }  # fmt: skip


@dataclass(frozen=True)
class DeviceTime:
    """The time of operators on the device."""

    operators: tuple[DeviceOperator, ...]
    """The operators with the most time, the first SHOWN."""
    known: float
    """Share of the time of all kernels except collectives with a known operator, 0…1."""


def device_time(traces: Mapping[int, Trace], times: Mapping[int, RankTime]) -> DeviceTime | None:
    """Return the time of operators on the device; None without kernels or without any known operator."""
    count: dict[str, float] = {}
    seconds: dict[str, float] = {}
    total = 0.0
    for rank, trace in traces.items():
        steps = times[rank].steps
        begin, end, scale = steps[0].begin, steps[-1].end, 1 / len(steps) / len(traces)
        for kernel, owner in owners(trace).items():
            if not begin <= trace.begins[kernel] < end:
                continue
            took = (trace.ends[kernel] - trace.begins[kernel]) / SECOND * scale
            total += took
            if owner != NOBODY:
                name = trace.name(owner)
                count[name] = count.get(name, 0.0) + scale
                seconds[name] = seconds.get(name, 0.0) + took
    if total <= 0 or not seconds:
        return None
    first = sorted(seconds, key=lambda name: (-seconds[name], name))[:SHOWN]
    operators = tuple(DeviceOperator(name, count[name], seconds[name], seconds[name] / total) for name in first)
    return DeviceTime(operators, sum(seconds.values()) / total)


def owners(trace: Trace) -> dict[int, int]:
    """Return number of a kernel → number of the operator that launched it, NOBODY if unknown."""
    by_id = {trace.link_of[number]: number for number in trace.of(Kind.OPERATOR) if trace.link_of[number] > 0}
    lanes = _lanes(trace)
    launches = _launches(trace)
    by_kernel = {}
    for kernel in trace.of(Kind.KERNEL):
        owner = by_id.get(trace.link_of[kernel], NOBODY)
        if owner == NOBODY:
            launch = launches.get(trace.correlation_of.get(kernel, 0))
            owner = _around(trace, lanes, launch) if launch is not None else NOBODY
        by_kernel[kernel] = owner
    return by_kernel


def inclusive(trace: Trace, time: RankTime) -> dict[int, float]:
    """Return number of an operator → microseconds of kernels that it or a nested operator launched.

    Kernels launched in the steps count, whenever they ran: a device is behind its program. Empty when less than
    NEARLY_ALL of their time has a known operator, and for a trace that lost its last kernels.
    """
    if trace.remark:
        return {}
    begin, end = time.steps[0].begin, time.steps[-1].end
    by_kernel, launched = owners(trace), _launches(trace)
    earlier = _left_over(trace, by_kernel, launched)
    total, owned = 0.0, {}
    for kernel, owner in by_kernel.items():
        launch = owner if owner != NOBODY else launched.get(trace.correlation_of.get(kernel, 0), kernel)
        if kernel not in earlier and begin <= trace.begins[launch] < end:
            total += trace.ends[kernel] - trace.begins[kernel]
            if owner != NOBODY:
                owned[kernel] = owner
    attributed = sum(trace.ends[kernel] - trace.begins[kernel] for kernel in owned)
    if total <= 0 or attributed < NEARLY_ALL * total:
        return {}
    above = _above(trace)
    spent: dict[int, float] = {}
    for kernel, owner in owned.items():
        took, number = trace.ends[kernel] - trace.begins[kernel], owner
        while number != NOBODY:
            spent[number] = spent.get(number, 0.0) + took
            number = above.get(number, NOBODY)
    return spent


def _launches(trace: Trace) -> dict[int, int]:
    """Return correlation → the runtime call that launched a kernel."""
    return {trace.link_of[number]: number for number in trace.of(Kind.LAUNCH) if trace.link_of[number] > 0}


def _left_over(trace: Trace, owned: Mapping[int, int], launched: Mapping[int, int]) -> set[int]:
    """Return work that was queued on a device before the recording: the first kernels of a stream, without launch."""
    first: dict[int, float] = {}
    for kernel, owner in owned.items():
        if owner != NOBODY:
            lane = trace.lane_of[kernel]
            first[lane] = min(first.get(lane, inf), trace.begins[kernel])
    return {
        kernel
        for kernel, owner in owned.items()
        if owner == NOBODY
        and trace.correlation_of.get(kernel, 0) not in launched
        and trace.begins[kernel] < first.get(trace.lane_of[kernel], -inf)
    }


def _lanes(trace: Trace) -> dict[int, list[int]]:
    """Return lane → its operators by start, the outer one of two first."""
    lanes: dict[int, list[int]] = {}
    for number in trace.of(Kind.OPERATOR):
        lanes.setdefault(trace.lane_of[number], []).append(number)
    for members in lanes.values():
        members.sort(key=lambda number: (trace.begins[number], -trace.ends[number]))
    return lanes


def _above(trace: Trace) -> dict[int, int]:
    """Return number of an operator → the operator that calls it, if any."""
    callers = {}
    for members in _lanes(trace).values():
        open_ones: list[int] = []
        for number in members:
            while open_ones and trace.ends[open_ones[-1]] <= trace.begins[number]:
                open_ones.pop()
            if open_ones:
                callers[number] = open_ones[-1]
            open_ones.append(number)
    return callers


def _around(trace: Trace, lanes: Mapping[int, list[int]], launch: int) -> int:
    """Return the innermost operator in which a runtime call begins, on its thread; NOBODY outside of any.

    It is searched among the last NEAR operators that began before the call.
    """
    members = lanes.get(trace.lane_of[launch], [])
    at = trace.begins[launch]
    index = bisect_right(members, at, key=lambda number: trace.begins[number])
    for number in reversed(members[max(0, index - NEAR) : index]):
        if trace.ends[number] >= at:
            return number
    return NOBODY
