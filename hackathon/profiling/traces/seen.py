"""How much of a rank's steps its trace shows: what of it was read, whether it has the kernels, when they end. Pure."""

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
"""Why no part of a step is known: what was read of the trace is less than one, or ends before its kernels."""
BEHIND, CATCHING_UP = "behind", "catching_up"
"""Why the time of steps is not that of the device's work: it takes longer; it does what earlier steps left, too."""
SHIFT = 0.1
"""Share of the time of all steps by which the device may fall back or catch up in them."""
FAR_BEHIND = 0.5
"""The same where it is not known how far back the device was at the beginning, so that this counts as well."""
FEWEST = 3
"""Steps that are left at least of those in which a queue fills."""
_WORK = re.compile(r"launch|synchronize|memcpy", re.IGNORECASE)
"""In the names of calls of the runtime that a program has for what it computes on a device."""


def steps_read(trace: Trace, steps: Sequence[TraceStep], *, marked: bool) -> list[TraceStep]:
    """Return the steps all of whose events were read: of a trace that was cut, those before its last one.

    The profiler writes kernels last, so it is they that a trace loses. Where no steps are marked the one of all is
    shortened. A range of the program may be around all of them.
    """
    if not trace.remark:
        return list(steps)
    kinds = [kind for kind in Kind if kind not in (Kind.STEP, Kind.RANGE)]
    last = max(_ends_on_device(trace) or [trace.ends[number] for number in trace.of(*kinds)], default=0.0)
    if not marked:
        return [TraceStep(step.number, step.begin, min(step.end, last)) for step in steps if step.begin < last]
    return [step for step in steps if step.end <= last]


def unseen(trace: Trace, steps: Sequence[TraceStep], computes_on_device: bool) -> str:
    """Return why nothing is known of the steps, a reason of `shares` or CUT_SHORT; empty when something is.

    `steps`: those of `steps_read`; `computes_on_device`: what the recorder says.
    """
    if _ends_on_device(trace):
        return "" if steps else CUT_SHORT
    if trace.computes_on_device:
        return ON_DEVICE
    on_device = computes_on_device or _calls_device(trace, steps)
    # kernels may stand behind the cut, and of a machine with a device nobody knows that it has none to do
    if trace.remark:
        return CUT_SHORT if on_device or trace.devices or not steps else ""
    return ON_DEVICE if on_device else ""


def _calls_device(trace: Trace, steps: Sequence[TraceStep]) -> bool:
    """Return whether the program calls the runtime of a device in the steps for what it computes there."""
    begin, end = (steps[0].begin, steps[-1].end) if steps else (0.0, 0.0)
    if not trace.remark:  # the profiler waits for the device itself when the program has ended its part
        end = min(end, max((trace.ends[number] for number in trace.of(Kind.OPERATOR)), default=0.0))
    # pinned memory does not show where is computed
    return any(
        begin <= trace.begins[number] < end and _WORK.search(trace.name(number)) for number in trace.of(Kind.LAUNCH)
    )


def steps_in_pace(trace: Trace, steps: Sequence[TraceStep]) -> tuple[list[TraceStep], str]:
    """Return the steps whose time is that of the device's work, or else all and why it is not, BEHIND or CATCHING_UP.

    A program that does not wait for its device may be some steps ahead of it; the time of its steps is right as long as
    it is as far ahead at their end as at their beginning. While its queue fills, in the first steps, it is not.
    """
    queue = _queue(trace, steps)
    if len(queue.done) < 2:
        # of a trace that was cut the kernels go on behind the steps that count
        last = max((trace.ends[number] for number in trace.of(Kind.KERNEL)), default=0.0) if not trace.remark else 0.0
        far = bool(steps) and last - steps[-1].end > FAR_BEHIND * (steps[-1].end - steps[0].begin)
        return list(steps), BEHIND if far else ""
    last = max(queue.done)
    until = max(0.0, max(queue.done.values()) - steps[last].end)
    before, reasons = queue.before, []
    for start in range(max(1, last + 2 - FEWEST)):
        least = most = max(0.0, before - steps[start].begin)
        if not least and start == 0:  # what was launched earlier may not have been recorded
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
    """What a device has to do for some steps, by their places."""

    done: dict[int, float]
    """When it ended what a step launched; empty where the launches are not told."""
    before: float
    """When it ended what was launched before all steps, -inf: not known."""
    first: float
    """When it began with the first kernel of the steps."""
    waited: float
    """How long that kernel waited while the trace shows nothing that the device did."""


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
    if all(begin <= first for begin, _ in untold):  # later ones show that the trace does not tell all launches
        before = max([before, *(end for _, end in untold if end <= first)])
    # of a trace that was cut the last kernels of the last step may be missing
    if trace.remark and done:
        del done[max(done)]
    # what is recorded before that kernel, such as a copy, may be of the same step
    spans = [trace.span(number) for number in trace.of(Kind.KERNEL, Kind.COPY_IN, Kind.COPY)]
    spans += [(collective.begin, collective.end) for collective in trace.collectives if collective.on_device]
    meanwhile = union((begin, end) for begin, end in spans if begin < first and end > launched)
    return _Queue(done, before, first, length(without([(launched, first)], meanwhile)) if done else 0.0)


def _ends_on_device(trace: Trace) -> list[float]:
    """Return when the kernels ended, with those of collectives."""
    collectives = [collective.end for collective in trace.collectives if collective.on_device]
    return [trace.ends[number] for number in trace.of(Kind.KERNEL)] + collectives
