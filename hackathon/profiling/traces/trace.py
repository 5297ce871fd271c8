"""The trace of one rank: the needed parts of its events, in compact form."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from hackathon.profiling.traces.kinds import ON_DEVICE, STEP, TOGETHER, Kind, collective_of, kind_of
from hackathon.profiling.traces.stream import TraceStream
from hackathon.profiling.traces.work import Work, work_of
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.json_fields import text_of
from hackathon.text.messages import Message
from hackathon.text.numbers import finite

EVENTS = 3_000_000
"""Events of one trace that are stored at most; a step of a large model has some 10,000."""
NAMES, LONGEST_NAME = 100_000, 500
"""Different names that are stored, and their length: names of template kernels have thousands of characters."""
LONGEST_GROUP = 32
"""Characters of a process group's name that are stored; a digest distinguishes longer ones."""
STEPS = 10_000
LATEST, LONGEST_EVENT = 1e17, 1e13
"""Microseconds beyond which times and durations are not plausible."""
FRAMEWORKS = ("tensorflow", "chainer")
"""Frameworks other than torch that a trace may name."""
MANY = "many"
"""Why a trace was not read to its end: it has more events than are stored."""


@dataclass(frozen=True)
class TraceStep:
    """A step of the rank's own program."""

    number: int
    begin: float
    end: float
    """Microseconds since the trace's origin."""


@dataclass(frozen=True)
class Collective:
    """One collective of this rank."""

    begin: float
    end: float
    what: str
    """`allreduce` and so on; empty when unknown."""
    group: str
    """Its process group, if the trace contains it."""
    ranks: str
    """The ranks of that group as listed in the trace, else ""."""
    members: int
    """Number of ranks in that group; 0: not recorded, so all."""
    lane: int
    launched: float | None = None
    """When the program launched it on the device; None: not recorded, or it ran on the host."""
    on_device: bool = False

    @property
    def together(self) -> bool:
        """Whether no rank can leave it before all have entered it."""
        return self.what in TOGETHER


@dataclass
class Trace:
    """The events of one rank. Times are microseconds since `origin`."""

    file: str
    """Its name."""
    path: Path | str = ""
    """Where to read it again."""
    rank: int = 0
    processes: int = 1
    told_rank: bool = False
    """Whether the trace itself contains its rank."""
    host: str = ""
    framework: str = ""
    """One of FRAMEWORKS; empty: torch."""
    base: float = 0.0
    """Nanoseconds since 1970 to which all its times are relative; 0 in old traces."""
    origin: float = 0.0
    """The first time in the trace, in microseconds since `base`."""
    devices: tuple[str, ...] = ()
    """Names of the machine's devices."""
    names: list[str] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
    begins: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))
    name_of: "array[int]" = field(default_factory=lambda: array("L"))
    lane_of: "array[int]" = field(default_factory=lambda: array("L"))
    link_of: "array[int]" = field(default_factory=lambda: array("q"))
    """`External id` of operators and kernels, `correlation` of runtime calls; 0: not recorded."""
    correlation_of: dict[int, int] = field(default_factory=dict)
    """Number of a kernel → its `correlation`."""
    lanes: list[tuple[int, int]] = field(default_factory=list)
    """(process, thread) or (device, stream) of each lane."""
    steps: list[TraceStep] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    work: dict[int, Work] = field(default_factory=dict)
    """Number of an operator → its work, for counted operators with recorded shapes."""
    shaped: bool = False
    """Whether shapes were recorded."""
    computes_on_device: bool = False
    """Whether, by the recorder, the program computes on a device without recorded kernels."""
    peaks: dict[str, float] = field(default_factory=dict)
    """`host` or `device` → peak bytes of tensors, if memory was recorded."""
    remark: str = ""
    """Why it was not read to its end, else ""."""
    main: int = -1
    """The lane of the program's main thread, -1: unknown."""
    count: int = 0
    """Events with a duration in the file."""

    @property
    def on_device(self) -> bool:
        """Whether it contains kernels of a device."""
        return any(Kind(kind) in ON_DEVICE for kind in set(self.kinds))

    def of(self, *kinds: Kind) -> Iterator[int]:
        """Yield the numbers of the events of some kinds."""
        chosen = set(kinds)
        return (number for number, kind in enumerate(self.kinds) if kind in chosen)

    def span(self, number: int) -> tuple[float, float]:
        """Return begin and end of an event."""
        return self.begins[number], self.ends[number]

    def name(self, number: int) -> str:
        """Return the name of an event."""
        return self.names[self.name_of[number]]


def read_trace(path: Path | str, number: int = 0) -> Trace:
    """Return the trace in a file; `number`: its rank if the file does not contain it.

    An incomplete file yields its readable part, with a remark. Raises RequestError when it cannot be opened, is not
    JSON, or has no event of torch.profiler.
    """
    try:
        with open_regular(path) as stream:
            trace = read_stream(stream, str(path), number)
            trace.path = path
            return trace
    except OSError as error:
        raise RequestError(
            "profile.unreadable", "{file} cannot be read: {what}", file=path, what=error.strerror or error
        ) from error


def read_stream(stream: BinaryIO, file: str, number: int = 0) -> Trace:
    """Return the trace in an open file, like `read_trace`. Raises RequestError, OSError."""
    source = TraceStream(stream, file)
    reader = _Reader(Trace(file, rank=number))
    for event in source.events():
        if not reader.take(event):
            break
    trace = reader.finish()
    trace.remark = trace.remark or source.remark
    _take_values(trace, source.values)
    if not trace.kinds:
        raise RequestError(
            Message(
                "profile.no_events",
                "{file} has no event of torch.profiler",
                hint="Traces of other programs (TensorFlow, Nsight) are not read.",
            )
            if not source.remark
            else Message("profile.torn", "{file} is damaged: no event of torch.profiler could be read"),
            file=file,
        )
    return trace


class _Reader:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._names: dict[str, int] = {}
        self._groups: dict[str, str] = {}
        self._lanes: dict[tuple[int, int], int] = {}
        self._steps: dict[int, TraceStep] = {}
        self._step_lanes: Counter[int] = Counter()
        self._operator_lanes: Counter[int] = Counter()
        self._calls: list[tuple[float, str]] = []
        """Calls of the program for collectives: (time, kind)."""
        self._collective_on_host: list[Collective] = []
        self._collective_on_device: list[Collective] = []
        self._correlations: list[int] = []
        """Correlations of the collectives on the device, in order; 0: not recorded."""
        self._begun = False

    def take(self, event: dict[str, Any]) -> bool:
        """Store the needed parts of an event; return False when there is no more room."""
        begin, duration, name = finite(event.get("ts")), finite(event.get("dur")), event.get("name")
        if not isinstance(name, str) or begin is None or abs(begin) > LATEST:
            return True
        if name == "[memory]":
            self._take_memory(event.get("args"))
            return True
        category = event.get("cat")
        if event.get("ph") != "X" or duration is None or not isinstance(category, str):
            return True
        if not 0 <= duration <= LONGEST_EVENT:
            return True
        self.trace.count += 1
        kind = kind_of(category, name)
        if kind is Kind.IGNORED:
            return True
        if len(self.trace.kinds) >= EVENTS:
            self.trace.remark = MANY
            return False
        if not self._begun:
            self.trace.origin, self._begun = begin, True
        self._keep(event, kind, name, begin - self.trace.origin, begin - self.trace.origin + duration, category)
        return True

    def _keep(self, event: dict[str, Any], kind: Kind, name: str, begin: float, end: float, category: str) -> None:
        trace = self.trace
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        lane = self._lane(event, arguments, on_device=kind in ON_DEVICE or category.lower() == "kernel")
        if kind is Kind.STEP:
            self._step_lanes[lane] += 1
            match = STEP.match(name)
            if match and len(self._steps) < STEPS:
                number = int(match[1])
                self._steps.setdefault(number, TraceStep(number, begin, end))
        elif kind is Kind.COLLECTIVE:
            self._take_collective(arguments, name, begin, end, lane, on_device=category.lower() == "kernel")
        elif kind is Kind.OPERATOR:
            self._operator_lanes[lane] += 1
            trace.shaped = trace.shaped or "Input Dims" in arguments
            if (work := work_of(name, arguments)) is not None:
                trace.work[len(trace.kinds)] = work
        elif kind is Kind.BLOCKING and (operation := collective_of(name, {})):
            self._calls.append((begin, operation))
        if kind is Kind.KERNEL and (correlation := _link(arguments.get("correlation"))):
            trace.correlation_of[len(trace.kinds)] = correlation
        trace.link_of.append(_link(arguments.get("correlation" if kind is Kind.LAUNCH else "External id")))
        trace.kinds.append(kind)
        trace.begins.append(begin)
        trace.ends.append(end)
        trace.name_of.append(self._name(name))
        trace.lane_of.append(lane)

    def _take_collective(
        self, arguments: dict[str, Any], name: str, begin: float, end: float, lane: int, *, on_device: bool
    ) -> None:
        labels = [str(arguments.get(f"Process Group {key}") or "")[:10_000] for key in ("Name", "Ranks")]
        members = _members(arguments.get("Group size"), labels[1])
        group, ranks = (self._name_of_group(label) for label in labels)
        collective = Collective(
            begin, end, collective_of(name, arguments), group, ranks, members, lane, on_device=on_device
        )  # fmt: skip
        if on_device:
            self._correlations.append(_link(arguments.get("correlation")))
        (self._collective_on_device if on_device else self._collective_on_host).append(collective)

    def _name_of_group(self, text: str) -> str:
        """Return a short text that identifies a group; equal groups share one object."""
        if len(text) > LONGEST_GROUP:
            text = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=LONGEST_GROUP // 2).hexdigest()
        return self._groups.setdefault(text, text) if len(self._groups) < NAMES else self._groups.get(text, text)

    def _name(self, name: str) -> int:
        name = text_of(name[:LONGEST_NAME])
        if name not in self._names:
            if len(self._names) >= NAMES:
                name = "…"
            if name not in self._names:
                self._names[name] = len(self.trace.names)
                self.trace.names.append(name)
        return self._names[name]

    def _lane(self, event: dict[str, Any], arguments: dict[str, Any], on_device: bool) -> int:
        first, second = event.get("pid"), event.get("tid")
        if on_device:
            first, second = arguments.get("device", first), arguments.get("stream", second)
        key = _identifier(first), _identifier(second)
        if key not in self._lanes:
            self._lanes[key] = len(self.trace.lanes)
            self.trace.lanes.append(key)
        return self._lanes[key]

    def _take_memory(self, arguments: Any) -> None:
        if not isinstance(arguments, dict):
            return
        total, device = finite(arguments.get("Total Allocated")), finite(arguments.get("Device Type"))
        if total is not None and total > 0 and device is not None:
            name = "host" if device == 0 else "device"
            self.trace.peaks[name] = max(total, self.trace.peaks.get(name, 0.0))

    def finish(self) -> Trace:
        """Return the trace with its steps and collectives in order."""
        trace = self.trace
        trace.steps = sorted(self._steps.values(), key=lambda step: step.begin)
        correlations = set(self._correlations) - {0}
        launches = {
            trace.link_of[number]: trace.begins[number]
            for number in (trace.of(Kind.LAUNCH) if correlations else ())
            if trace.link_of[number] in correlations
        }
        self._collective_on_device = [
            replace(collective, launched=launches.get(correlation))
            for collective, correlation in zip(self._collective_on_device, self._correlations, strict=True)
        ]
        # on a device, the communication thread's ranges are only launches
        collectives = sorted(
            self._collective_on_device or self._collective_on_host,
            key=lambda collective: (collective.begin, collective.end),
        )
        trace.collectives = collectives if self._collective_on_device else self._called(collectives)
        lanes = self._step_lanes or self._operator_lanes
        trace.main = lanes.most_common(1)[0][0] if lanes else -1
        return trace

    def _called(self, collectives: list[Collective]) -> list[Collective]:
        """Return collectives with the time of the program's call as their start, if each has its call.

        The communication thread starts them later, on a busy machine by milliseconds, although the rank has entered.
        """
        calls = sorted(self._calls)
        if [operation for _, operation in calls] != [collective.what for collective in collectives]:
            return collectives
        pairs = zip(calls, collectives, strict=True)
        return [replace(collective, begin=min(begin, collective.begin)) for (begin, _), collective in pairs]


def _members(size: Any, ranks: str) -> int:
    """Return the number of ranks in a group, by its size, else by its list, which Kineto truncates with dots."""
    number = finite(size)
    if number is not None and 1 <= number <= 1_000_000:
        return int(number)
    return 0 if "..." in ranks else len(re.findall(r"\d+", ranks))


def _link(value: Any) -> int:
    """Return a number by which events refer to each other; 0 for other values."""
    number = finite(value)
    return int(number) if number is not None and 0 < number < math.ldexp(1, 53) and number % 1 == 0 else 0


def _identifier(value: Any) -> int:
    """Return a process, thread, device or stream as a number; a word gets one that no process has."""
    number = finite(value)
    if number is None:
        return -1
    return int(number) if abs(number) < math.ldexp(1, 53) else -2


def _take_values(trace: Trace, values: dict[str, Any]) -> None:
    trace.base = finite(values.get("baseTimeNanoseconds")) or 0.0
    trace.host = text_of(values.get("host_name"))[:200]
    trace.framework = next((framework for framework in FRAMEWORKS if framework == values.get("framework")), "")
    trace.computes_on_device = text_of(values.get("computes_on")) not in ("", "cpu")
    about = values.get("distributedInfo")
    if isinstance(about, dict):
        rank, processes = finite(about.get("rank")), finite(about.get("world_size"))
        if rank is not None and processes is not None and 0 <= rank < processes <= 1_000_000:
            trace.rank, trace.processes, trace.told_rank = int(rank), int(processes), True
    devices = values.get("deviceProperties")
    if isinstance(devices, list):
        names = [text_of(device.get("name"))[:100] for device in devices[:64] if isinstance(device, dict)]
        trace.devices = tuple(filter(None, names))
