"""How much of a rank's steps its trace shows: what of it was read, whether it has the kernels, when they end. Pure."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from hackathon.profiling.shares import ON_DEVICE
from hackathon.profiling.traces.kinds import Kind
from hackathon.profiling.traces.trace import Trace, TraceStep

CUT_SHORT = "cut-short"
"""Why no part of a step is known: what was read of the trace is less than one."""
BEHIND = 0.1
"""Share of the time of all steps by which the device may fall back in them; a pipeline that fills does so by less."""
FAR_BEHIND = 0.5
"""The same where it is not known how far back the device was at the beginning, so that this counts as well."""
_WORK = re.compile(r"launch|synchronize|memcpy", re.IGNORECASE)
"""In the names of calls of the runtime that a program has for what it computes on a device."""


def steps_read(trace: Trace, steps: Sequence[TraceStep], *, marked: bool) -> list[TraceStep]:
    """Return the steps all of whose events were read: of a trace that was cut, those before its last one.

    The profiler writes kernels last, so it is they that a trace loses. Where no steps are marked the one of all is
    shortened.
    """
    if not trace.remark:
        return list(steps)
    others = [kind for kind in Kind if kind is not Kind.STEP]
    last = max(_ends_on_device(trace) or [trace.ends[number] for number in trace.of(*others)], default=0.0)
    if not marked:
        return [TraceStep(step.number, step.begin, min(step.end, last)) for step in steps if step.begin < last]
    return [step for step in steps if step.end <= last]


def unseen(trace: Trace, steps: Sequence[TraceStep], computes_on_device: bool) -> str:
    """Return why nothing is known of the steps, a reason of `shares` or CUT_SHORT; empty when something is.

    `steps`: those of `steps_read`; `computes_on_device`: what the recorder says.
    """
    if _ends_on_device(trace):
        return "" if steps else CUT_SHORT
    if trace.computes_on_device or computes_on_device:
        return ON_DEVICE
    # pinned memory does not show where is computed
    calls = [trace.begins[number] for number in trace.of(Kind.LAUNCH) if _WORK.search(trace.name(number))]
    if trace.remark and (trace.devices or calls):
        return ON_DEVICE
    if not steps:
        return CUT_SHORT
    # the profiler waits for the device itself when the program has ended its part
    operators = max((trace.ends[number] for number in trace.of(Kind.OPERATOR)), default=0.0)
    begin, end = steps[0].begin, min(steps[-1].end, operators)
    return ON_DEVICE if any(begin <= each < end for each in calls) else ""


def is_behind(trace: Trace, steps: Sequence[TraceStep]) -> bool:
    """Return whether the device fell so far back in the steps that their time is not that of its work.

    A program that does not wait for its device may be some steps ahead of it; the time of its steps is right as long as
    it is as far ahead at their end as at their beginning.
    """
    kernels = list(trace.of(Kind.KERNEL))
    if not kernels or not steps:
        return False
    total = steps[-1].end - steps[0].begin
    begins = [step.begin for step in steps]
    launches = {trace.link_of[number]: trace.begins[number] for number in trace.of(Kind.LAUNCH)}
    done: dict[int, float] = {}
    for number in kernels:
        at = launches.get(trace.correlation_of.get(number, 0))
        place = bisect_right(begins, at) - 1 if at is not None else -1
        if at is not None and place >= 0 and at < steps[place].end:
            done[place] = max(done.get(place, 0.0), trace.ends[number])
    if len(done) > 1:
        first, last = (max(0.0, done[place] - steps[place].end) for place in (min(done), max(done)))
        return last - first > BEHIND * total
    # of a trace that was cut the kernels go on behind the steps that count
    return not trace.remark and max(trace.ends[number] for number in kernels) - steps[-1].end > FAR_BEHIND * total


def _ends_on_device(trace: Trace) -> list[float]:
    """Return when the kernels ended, with those of collectives."""
    collectives = [each.end for each in trace.collectives if each.on_device]
    return [trace.ends[number] for number in trace.of(Kind.KERNEL)] + collectives
