"""Assign each time of a step to a part, from the traces of all ranks: the parts add up to the step.

With kernels of a device: its kernels are compute. Its collectives, while no kernel runs, are communication or, before
the last rank has entered them, waiting. Then come copies to the device (data) and others (other). While the device is
idle the program is in its loader (data) or at work on the CPU (host).

Without: the loader (data), operators (compute), collectives outside of both, and the rest, which is the program's own
(host): Python, sleeping and file access are not distinguishable there.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hackathon.profiling.shares import MISSING_RANKS, PARTS, UNMARKED, UNMATCHED, RunShares, StepShares
from hackathon.profiling.traces.alignment import Clock, Matched
from hackathon.profiling.traces.intervals import Intervals, length, lengths, union, within, without
from hackathon.profiling.traces.kinds import Kind
from hackathon.profiling.traces.seen import steps_in_pace, steps_read, unseen
from hackathon.profiling.traces.trace import Collective, Trace, TraceStep

SECOND = 1e6
"""Microseconds."""


@dataclass
class RankTime:
    """The times of one rank by part, in microseconds of its trace, over all its steps."""

    steps: list[TraceStep]
    parts: dict[str, Intervals]
    """Part of a step → times."""
    waiting_for: dict[int, Intervals] = field(default_factory=dict)
    """Late rank → times in which this rank waited for it."""
    communicating: Intervals = field(default_factory=list)
    """In collectives, overlapped or not."""
    loading: Intervals = field(default_factory=list)
    """In the loader, overlapped or not."""
    reason: str = ""
    """Why waiting is not separated from communication, one of the reasons of `shares`; empty when it is."""
    unknown: str = ""
    """Why no part is known, ON_DEVICE or CUT_SHORT of `seen`; empty when parts are. All time is `other` then."""
    off_pace: str = ""
    """Why the steps' time is not that of the device's work, BEHIND or CATCHING_UP of `seen`; empty when it is."""
    marked: bool = True
    """Whether the trace marks steps; otherwise all of it counts as one."""

    @property
    def seconds(self) -> float:
        """Seconds of all its steps."""
        return sum(step.end - step.begin for step in self.steps) / SECOND

    def spent(self, part: str) -> float:
        """Return the seconds of a part in all its steps."""
        return length(self.parts[part]) / SECOND

    def by_step(self, moments: Intervals) -> dict[int, float]:
        """Return step → seconds of some times in it."""
        inside = lengths(moments, [(step.begin, step.end) for step in self.steps])
        return {step.number: duration / SECOND for step, duration in zip(self.steps, inside, strict=True)}


def steps_of(trace: Trace) -> tuple[list[TraceStep], bool]:
    """Return the steps of a trace, and whether it marks them.

    If the program did not report them, a step ends with each `Optimizer.step`; without those the trace is one step.
    """
    if trace.steps:
        return _apart(trace.steps), True
    optimizers: dict[str, list[float]] = {}
    for number in trace.of(Kind.RANGE):
        if trace.name(number).startswith("Optimizer.step#") and trace.lane_of[number] == trace.main:
            optimizers.setdefault(trace.name(number), []).append(trace.ends[number])
    ends = max((sorted(moments) for moments in optimizers.values()), key=len, default=[])
    if len(ends) > 1:
        pairs = enumerate(pairwise(ends))
        return [TraceStep(number, begin, end) for number, (begin, end) in pairs if begin < end], True
    begin, end = min(trace.begins), max(trace.ends)
    return ([TraceStep(0, begin, end)] if begin < end else []), False


def _apart(steps: Sequence[TraceStep]) -> list[TraceStep]:
    """Return steps without overlap, for any trace; empty ones are dropped."""
    disjoint: list[TraceStep] = []
    for step in steps:
        begin = max(step.begin, disjoint[-1].end) if disjoint else step.begin
        if begin < step.end:
            disjoint.append(TraceStep(step.number, begin, step.end))
    return disjoint


def reckon(
    traces: Mapping[int, Trace],
    times: Mapping[int, Clock],
    pairs: Matched,
    processes: int,
    on_device: Collection[int],
) -> dict[int, RankTime]:
    """Return the time of each rank by part.

    `times` and `pairs`: from `alignment`; `on_device`: ranks that compute on a device, whatever their traces contain.
    """
    waits: dict[int, list[_Wait]] = {rank: [] for rank in traces}
    together: dict[int, set[Collective]] = {rank: set() for rank in traces}
    for pair in pairs if len(traces) == processes else ():
        entered = {rank: part.begin + times[rank].shift for rank, part in pair.items()}
        last = max(entered, key=entered.__getitem__)
        for rank, part in pair.items():
            if part.together:
                together[rank].add(part)
                came = min(part.end, max(part.begin, entered[last] - times[rank].shift))
                waits[rank].append(_Wait(part.begin, came, part.end, last))
    return {
        rank: _rank_time(trace, waits[rank], together[rank], processes, rank in on_device)
        for rank, trace in traces.items()
    }


@dataclass(frozen=True)
class _Wait:
    """A collective of a rank with the time at which the last rank entered, by the rank's own clock."""

    begin: float
    entered: float
    """When the last rank entered, or the end of the collective, whichever was first."""
    end: float
    """End of the collective."""
    late: int
    """The rank that entered last; perhaps this one."""


def _rank_time(
    trace: Trace, waits: Sequence[_Wait], matched: set[Collective], processes: int, on_device: bool
) -> RankTime:
    recorded, marked = steps_of(trace)
    read = steps_read(trace, recorded, marked=marked)
    why = unseen(trace, read, on_device)
    steps, off_pace = (read or recorded, "") if why else steps_in_pace(trace, read)
    window = union((step.begin, step.end) for step in steps)

    def spans(*kinds: Kind, main: bool = False) -> Intervals:
        return within(
            union(trace.span(number) for number in trace.of(*kinds) if not main or trace.lane_of[number] == trace.main),
            window,
        )

    loading = spans(Kind.LOADER, main=True)
    communicating = within(union((collective.begin, collective.end) for collective in trace.collectives), window)
    if why:
        nothing: dict[str, Intervals] = {part: [] for part in PARTS}
        return RankTime(steps, {**nothing, "other": window}, loading=loading, unknown=why, marked=marked)
    if trace.on_device:
        compute = spans(Kind.KERNEL)
        exposed = without(communicating, compute)
        busy = union([*compute, *exposed])
        copied_in = without(spans(Kind.COPY_IN), busy)
        busy = union([*busy, *copied_in])
        other = without(spans(Kind.COPY), busy)
        idle = without(window, union([*busy, *other]))
        data = union([*copied_in, *within(idle, loading)])
        host = without(idle, loading)
    else:
        blocking = spans(Kind.BLOCKING)
        data, other = loading, []
        compute = without(without(spans(Kind.OPERATOR), blocking), data)
        exposed = without(without(union([*communicating, *blocking]), data), compute)
        host = without(window, union([*data, *compute, *exposed]))
    all_in = union(
        [(wait.entered, wait.end) for wait in waits]
        + [(collective.begin, collective.end) for collective in trace.collectives if collective not in matched]
    )
    waiting = without(within(exposed, union((wait.begin, wait.entered) for wait in waits)), all_in)
    parts = {
        "data": data, "host": host, "compute": compute, "communication": without(exposed, waiting),
        "waiting": waiting, "other": other,
    }  # fmt: skip
    time = RankTime(steps, parts, communicating=communicating, loading=loading, off_pace=off_pace, marked=marked)
    if processes > 1:
        time.reason = UNMARKED if not communicating else "" if matched else UNMATCHED
    remaining = waiting
    for late in sorted({wait.late for wait in waits}):
        mine = within(remaining, union((wait.begin, wait.entered) for wait in waits if wait.late == late))
        remaining = without(remaining, mine)
        if mine:
            time.waiting_for[late] = mine
    return time


def shares_of(times: Mapping[int, RankTime], processes: int) -> RunShares:
    """Return the shares of a step per rank, in seconds per step, and the ranks that others waited for."""
    shares = tuple(_shares(rank, time, len(times) < processes) for rank, time in sorted(times.items()) if time.steps)
    caused: dict[int, float] = {}
    for time in times.values():
        for late, moments in time.waiting_for.items():
            caused[late] = caused.get(late, 0.0) + length(moments) / SECOND / len(time.steps)
    return RunShares(processes, shares, tuple(sorted(caused.items())))


def _shares(rank: int, time: RankTime, missing: bool) -> StepShares:
    steps = len(time.steps)
    parts: dict[str, float | None] = {part: time.spent(part) / steps for part in PARTS}
    unknown: dict[str, str] = {}
    reason = MISSING_RANKS if missing and time.reason != UNMARKED else time.reason
    if time.unknown:
        unknown = {part: time.unknown for part in PARTS if part != "other"}
        parts.update(dict.fromkeys(unknown))
    elif reason == UNMARKED:  # the time in collectives looks like the program's own
        parts["other"] = (parts["other"] or 0.0) + (parts["host"] or 0.0)
        parts["host"] = parts["communication"] = parts["waiting"] = None
        unknown = dict.fromkeys(("host", "communication", "waiting"), UNMARKED)
    elif reason:
        parts["waiting"], unknown["waiting"] = None, reason
    return StepShares(rank, steps, time.seconds / steps, **parts, unknown=tuple(unknown.items()))
