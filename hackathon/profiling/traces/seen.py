"""How much of a rank's steps its trace covers: the part that was read, its kernels, and their ends. Pure."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from hackathon.profiling.shares import ON_DEVICE
from hackathon.profiling.traces.intervals import length, union, without
from hackathon.profiling.traces.kinds import Kind
from hackathon.profiling.traces.trace import Trace, TraceStep

CUT_SHORT = "cut-short"
"""Why no part of a step is known: less than one step was read, or the trace ends before its kernels."""
BEHIND, CATCHING_UP = "behind", "catching_up"
"""Why the time of steps is not that of the device's work: the device takes longer, or finishes earlier work, too."""
SHIFT = 0.1
"""Share of the time of all steps by which the device may fall back or catch up in them."""
FAR_BEHIND = 0.5
"""The same when the device's initial backlog is unknown, so that it counts as well."""
FEWEST = 3
"""Minimum of remaining steps after those in which the queue fills."""
_WORK = re.compile(r"launch|synchronize|memcpy", re.IGNORECASE)
"""Names of runtime calls that a program makes for its computing on a device."""


def steps_read(trace: Trace, steps: Sequence[TraceStep], *, marked: bool) -> list[TraceStep]:
    """Return the completely read steps: in a truncated trace those before the last one.

    The profiler writes kernels last, so truncation loses them. Without marked steps the only step is shortened. A range
    of the program may enclose all steps.
    """
    if not trace.remark:
        return list(steps)
    kinds = [kind for kind in Kind if kind not in (Kind.STEP, Kind.RANGE)]
    last = max(_ends_on_device(trace) or [trace.ends[number] for number in trace.of(*kinds)], default=0.0)
    if not marked:
        return [TraceStep(step.number, step.begin, min(step.end, last)) for step in steps if step.begin < last]
    return [step for step in steps if step.end <= last]


def unseen(trace: Trace, steps: Sequence[TraceStep], computes_on_device: bool) -> str:
    """Return why nothing is known of the steps, a reason of `shares` or CUT_SHORT; else "".

    `steps`: those of `steps_read`; `computes_on_device`: from the recorder.
    """
    if _ends_on_device(trace):
        return "" if steps else CUT_SHORT
    if trace.computes_on_device:
        return ON_DEVICE
    on_device = computes_on_device or _calls_device(trace, steps)
    # the kernels may be beyond the cut, and on a machine with a device their absence proves nothing
    if trace.remark:
        return CUT_SHORT if on_device or trace.devices or not steps else ""
    return ON_DEVICE if on_device else ""


def _calls_device(trace: Trace, steps: Sequence[TraceStep]) -> bool:
    """Return whether the program calls a device's runtime in the steps for its computing."""
    begin, end = (steps[0].begin, steps[-1].end) if steps else (0.0, 0.0)
    if not trace.remark:  # after the program's part, the profiler itself waits for the device
        end = min(end, max((trace.ends[number] for number in trace.of(Kind.OPERATOR)), default=0.0))
    # pinned memory does not show where the program computes
    return any(
        begin <= trace.begins[number] < end and _WORK.search(trace.name(number)) for number in trace.of(Kind.LAUNCH)
    )


def steps_in_pace(trace: Trace, steps: Sequence[TraceStep]) -> tuple[list[TraceStep], str]:
    """Return the steps whose time is that of the device's work, or else all and the reason, BEHIND or CATCHING_UP.

    A program that does not wait for its device may be some steps ahead of it. The time of its steps is right if it is
    as far ahead at their end as at their start. In the first steps, while its queue fills, it is not.
    """
    queue = _queue(trace, steps)
    if len(queue.done) < 2:
        # in a truncated trace, kernels continue after the counted steps
        last = max((trace.ends[number] for number in trace.of(Kind.KERNEL)), default=0.0) if not trace.remark else 0.0
        far = bool(steps) and last - steps[-1].end > FAR_BEHIND * (steps[-1].end - steps[0].begin)
        return list(steps), BEHIND if far else ""
    last = max(queue.done)
    until = max(0.0, max(queue.done.values()) - steps[last].end)
    before, reasons = queue.before, []
    for start in range(max(1, last + 2 - FEWEST)):
        least = most = max(0.0, before - steps[start].begin)
        if not least and start == 0:  # earlier launches may not have been recorded
            first = min(queue.done)
            least, most = queue.waited, max(queue.done[first] - steps[first].end, queue.first - steps[0].begin)
        enough = SHIFT * (steps[last].end - steps[start].begin)
        why = BEHIND if until - most > enough else CATCHING_UP if least - until > enough else ""
        if not why:
            return list(steps[start:]), ""
        reasons.append(why)
        before = max(before, queue.done.get(start, before))
    return list(steps), reasons[0]


@dataclass
class _Queue:
    """A device's work for some steps, by their index."""

    done: dict[int, float]
    """When the work that a step launched ended; empty without recorded launches."""
    before: float
    """When the work launched before all steps ended; -inf: unknown."""
    first: float
    """When the first kernel of the steps began."""
    waited: float
    """How long that kernel waited while the trace shows no other work of the device."""


def _queue(trace: Trace, steps: Sequence[TraceStep]) -> _Queue:
    begins = [step.begin for step in steps]
    launches = {trace.link_of[number]: trace.begins[number] for number in trace.of(Kind.LAUNCH)}
    done: dict[int, float] = {}
    before, launched, first = -inf, inf, inf
    untold = []
    for number in trace.of(Kind.KERNEL):
        at, begin, end = launches.get(trace.correlation_of.get(number, 0)), *trace.span(number)
        index = bisect_right(begins, at) - 1 if at is not None else -1
        if at is None:
            untold.append((begin, end))
        elif index < 0:
            before = max(before, end)
        elif at < steps[index].end:
            done[index] = max(done.get(index, 0.0), end)
            if begin < first:
                launched, first = at, begin
    if all(begin <= first for begin, _ in untold):  # later ones show that the trace lacks some launches
        before = max([before, *(end for _, end in untold if end <= first)])
    # a truncated trace may lack the last kernels of the last step
    if trace.remark and done:
        del done[max(done)]
    # earlier records, such as a copy, may belong to the same step
    spans = [trace.span(number) for number in trace.of(Kind.KERNEL, Kind.COPY_IN, Kind.COPY)]
    spans += [(collective.begin, collective.end) for collective in trace.collectives if collective.on_device]
    meanwhile = union((begin, end) for begin, end in spans if begin < first and end > launched)
    return _Queue(done, before, first, length(without([(launched, first)], meanwhile)) if done else 0.0)


def _ends_on_device(trace: Trace) -> list[float]:
    """Return the ends of the kernels, including collectives."""
    collectives = [collective.end for collective in trace.collectives if collective.on_device]
    return [trace.ends[number] for number in trace.of(Kind.KERNEL)] + collectives
