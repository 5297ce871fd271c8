"""Read the output of `tf.profiler`, with the names of torch.profiler.

TensorFlow writes its events in a format of its own, `xplane.pb`, which only TensorBoard's plug-in converts to JSON. It
is a protobuf message (`xplane.proto` of TSL); this module reads its few needed fields.

`tensorflow_trace.py` loads this file from its own folder, in the program's Python (3.6 or newer).
"""

import bisect
import glob
import os
import re
from typing import Any

MOST = 1000000
"""Events that are stored at most."""
LARGEST = 1 << 30
"""Bytes of TensorFlow's file that are read at most."""
MARK = "hackathon-step"
OPERATOR = re.compile(r"[^:]+:(_?[A-Z]\w*)\Z")
"""`name of the node:kernel`, the name of a kernel's event."""
EAGER = re.compile(r"EagerLocalExecute: (\w+)\Z")
"""An operator that the program calls; functions, which contain operators, begin with `__`."""
PROCESS, CAPTURED = "ExecutorState::Process", "InstantiatedCapturedFunction::"
"""Work of a thread for a graph; work of the input pipeline in functions of the program."""
BEGUN, ENDED = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
"""Ends of an operator that waits, on two threads."""
NEXT = "IteratorGetNext"
PIPELINE = ("tf_data", "collective_ops")
"""Prefixes of threads whose operators are not the step's computing."""
COLLECTIVES = (
    ("CollectiveReduceScatter", "reduce_scatter"), ("CollectiveReduce", "all_reduce"),
    ("CollectiveGather", "all_gather"), ("CollectiveAllToAll", "all_to_all"), ("CollectiveBcast", "broadcast"),
    ("HorovodAllreduce", "all_reduce"), ("HorovodGroupedAllreduce", "all_reduce"), ("HorovodAllgather", "all_gather"),
    ("HorovodBroadcast", "broadcast"), ("HorovodAlltoall", "all_to_all"), ("HorovodReducescatter", "reduce_scatter"),
)  # fmt: skip
"""Prefix of a kernel's name → its collective."""
XLA, COMPILED = re.compile(r"\w*Executable::Execute\w*\Z"), "compiled function"
"""Work of XLA-compiled code: newer versions have events for it; in older ones a call contains no events."""
CONTAINERS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf"})
"""Kernels that contain others."""


# ---- TensorFlow's file: XSpace { planes = 1 }, XPlane { name = 2, lines = 3, event_metadata = 4, stat_metadata = 5 },
# XLine { name = 2, timestamp_ns = 3, events = 4 }, XEvent { metadata_id = 1, offset_ps = 2, duration_ps = 3, stats = 4
# }, XEventMetadata { id = 1, name = 2 }, XStat { metadata_id = 1, uint64 = 3, int64 = 4, str = 5, ref = 7 }


def fields(data: Any) -> Any:
    """Yield (number, value) of the fields of a message: an integer, or bytes. Raises ValueError for invalid data."""
    position, end = 0, len(data)
    while position < end:
        key, position = varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = varint(data, position)
        elif kind in (1, 2, 5):
            size, position = varint(data, position) if kind == 2 else ({1: 8, 5: 4}[kind], position)
            value, position = data[position : position + size], position + size
            if position > end:
                raise ValueError("a field ends behind its message")
        else:
            raise ValueError("not a message of protobuf")
        yield key >> 3, value


def varint(data: Any, position: int) -> Any:
    """Return (number, position after it). Raises ValueError."""
    value = shift = 0
    while shift < 70:
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    raise ValueError("a number has no end")


def text(value: Any) -> str:
    """Return a text of a message; "" for a number."""
    return "" if isinstance(value, int) else bytes(value).decode("utf-8", "replace")


def number(value: Any) -> int:
    """Return a number of a message; 0 for bytes."""
    return value if isinstance(value, int) else 0


def parts(data: Any, numbers: Any) -> Any:
    """Return field → its last value, for some fields."""
    return {field: value for field, value in fields(data) if field in numbers} if not isinstance(data, int) else {}


class Plane:
    """The events of a host or a device: (thread, [(begin, end, name, stats)]), microseconds of TensorFlow's clock."""

    def __init__(self, data: Any) -> None:
        self.name = ""
        self.lines = []  # type: list[Any]
        names, stats, lines = {}, {}, []  # type: Any, Any, list[Any]
        for field, value in fields(data):
            if field == 2:
                self.name = text(value)
            elif field == 3:
                lines.append(value)
            elif field in (4, 5):
                entry = parts(value, (1, 2))
                metadata = parts(entry.get(2, b""), (2,))
                (names if field == 4 else stats)[number(entry.get(1, 0))] = text(metadata.get(2, b""))
        for line in lines:
            self.lines.append(self.read(line, names, stats))

    def read(self, data: Any, names: Any, stats: Any) -> Any:
        """Return (name of a thread, its events by start)."""
        name, start, events, spans = "", 0.0, [], []  # type: Any, float, list[Any], list[Any]
        for field, value in fields(data):
            if field == 2:
                name = text(value)
            elif field == 3:
                start = number(value) / 1e3
            elif field == 4:
                events.append(value)
        for raw in events:
            entry = parts(raw, (1, 2, 3))
            label = names.get(entry.get(1, 0), "")
            begin = start + number(entry.get(2, 0)) / 1e6
            needed = label in (PROCESS, BEGUN, ENDED) or label.startswith(CAPTURED)
            values = values_of(raw, stats) if needed else {}
            spans.append((begin, begin + number(entry.get(3, 0)) / 1e6, label, values))
        spans.sort(key=lambda event: (event[0], -event[1]))
        return name, spans


def values_of(event: Any, stats: Any) -> Any:
    """Return name → value of an event's statistics."""
    values = {}
    for field, value in fields(event):
        if field == 4:
            entry = parts(value, (1, 3, 4, 5, 7))
            name = stats.get(entry.get(1), "")
            content = next((entry[kind] for kind in (3, 4, 5) if kind in entry), None)
            if content is None:
                values[name] = stats.get(entry.get(7), "")
            else:
                values[name] = content if isinstance(content, int) else text(content)
    return values


def planes_in(folder: str) -> Any:
    """Return the planes in TensorFlow's output. Raises ValueError, OSError."""
    files = glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb"))
    if not files:
        raise ValueError("tf.profiler wrote no xplane.pb")
    if os.path.getsize(files[0]) > LARGEST:
        raise ValueError("tf.profiler wrote more than 1 GiB: record fewer steps")
    with open(files[0], "rb") as stream:
        return [Plane(value) for field, value in fields(memoryview(stream.read())) if field == 1]


# ---- meaning of its events


def events_in(folder: str, ends: Any, first: int) -> Any:
    """Return `recorded_events` of TensorFlow's output. Raises ValueError, OSError."""
    return recorded_events(planes_in(folder), ends, first)


def recorded_events(planes: Any, ends: Any, first: int) -> Any:
    """Return (category, name, begin, end, thread, arguments) of the steps' events, with the names of torch.profiler.

    `ends`: times of the ends of steps, `first`: the number of the step after the first one. Raises ValueError when the
    program's own thread is not found.
    """
    events = []  # type: list[Any]
    shift = None
    for plane in planes:
        if plane.name == "/host:CPU":
            main = next((index for index, (_, line) in enumerate(plane.lines) if any(e[2] == MARK for e in line)), None)
            if main is None:
                break
            marks = [begin for begin, _, name, _ in plane.lines[main][1] if name == MARK]
            pairs = list(zip(reversed(marks), reversed(ends)))
            shift = sorted(end - mark for mark, end in pairs)[len(pairs) // 2]
            events += host_events(plane.lines, main)
    if shift is None:
        raise ValueError("tf.profiler recorded no event of the program's own thread")
    thread = next(event[4] for event in events if event[1] == MARK)
    for plane in planes:
        device = re.match(r"/device:GPU:(\d+)", plane.name)
        if device:
            events += device_events(plane.lines, int(device.group(1)))
    steps = [
        ("user_annotation", "ProfilerStep#%d" % (first + index), begin, end, thread, {})
        for index, (begin, end) in enumerate(zip(ends, ends[1:]))
    ]  # type: list[Any]
    moved = [(*event[:2], event[2] + shift, event[3] + shift, *event[4:]) for event in events if event[1] != MARK]
    inside = sorted(
        (event for event in moved if event[3] > ends[0] and event[2] < ends[-1]), key=lambda event: event[2]
    )
    if len(inside) > MOST:
        del inside[MOST:]
        steps = [event for event in steps if event[3] <= inside[-1][2]]
        if not steps:
            raise ValueError("a step has more than %d events" % MOST)
    return steps + inside


def host_events(lines: Any, main: int) -> Any:
    """Return the events of a host's threads, which are numbered from 1."""
    captured = set()  # type: set[Any]
    for _, events in lines:
        captured.update(values.get("id") for _, _, name, values in events if name.startswith(CAPTURED))
    operators, waits, calls, collectives = [], [], [], []  # type: list[Any], list[Any], list[Any], list[Any]
    begun, ended = {}, {}  # type: Any, Any
    for index, (thread, events) in enumerate(lines):
        until = 0.0
        """End of this thread's work for the input pipeline."""
        for begin, end, name, values in events:
            kernel, eager = OPERATOR.match(name), EAGER.match(name)
            if name == PROCESS:
                until = end if values.get("id") in captured else until if begin < until else 0.0
            elif name == MARK:
                operators.append(("user_annotation", MARK, begin, end, index + 1, {}))
            elif name == BEGUN and values.get("step_id") not in captured:
                begun[values.get("_p")] = begin, str(values.get("name")), str(values.get("kernel_type"))
            elif name == ENDED:
                ended[values.get("_c")] = begin
            elif eager and eager.group(1).startswith(NEXT):
                waits.append((begin, end))
            elif eager and eager.group(1).startswith("__"):
                calls.append((begin, end))
            elif eager and collective(eager.group(1)):
                label = "tf:" + collective(eager.group(1))
                collectives.append(("cpu_op", label, begin, end, index + 1, {"Process Group Name": eager.group(1)}))
            elif eager:
                operators.append(("cpu_op", eager.group(1), begin, end, index + 1, {}))
            elif XLA.match(name):
                operators.append(("cpu_op", "XLA", begin, end, index + 1, {}))
            elif kernel and begin >= until and not thread.startswith(PIPELINE):
                label = kernel.group(1)
                if label not in CONTAINERS and not collective(label):
                    operators.append(("cpu_op", label, begin, end, index + 1, {}))
    fetched = []  # type: list[Any]
    for key, (begin, node, kernel) in begun.items():
        end = ended.get(key)
        label = collective(kernel)
        if end is not None and label:
            group = {"Process Group Name": node}
            collectives.append(("cpu_op", "tf:" + label, begin, end, len(lines) + 1, group))
        elif end is not None and kernel.startswith(NEXT):
            fetched.append((begin, end))
        elif end is not None and kernel.lstrip("_").startswith("Xla"):
            operators.append(("cpu_op", "XLA", begin, end, len(lines) + 2, {}))
        elif end is not None and kernel in CONTAINERS:
            calls.append((begin, end))
    computed = sorted(event[2:4] for event in operators if event[0] == "cpu_op")
    waits += without(fetched, computed)
    for begin, end in without(empty(calls, computed), waits + [event[2:4] for event in collectives]):
        operators.append(("cpu_op", COMPILED, begin, end, len(lines) + 2, {}))
    return operators + collectives + [("user_annotation", "data", begin, end, main + 1, {}) for begin, end in waits]


def collective(kernel: str) -> str:
    """Return a kernel's collective, empty for other kernels."""
    return next((name for start, name in COLLECTIVES if kernel.startswith(start)), "")


def empty(calls: Any, operators: Any) -> Any:
    """Return the calls in which no operator begins; `operators` are sorted by start."""
    matches = []
    for begin, end in calls:
        index = bisect.bisect_left(operators, (begin,))
        if index == len(operators) or operators[index][0] > end:
            matches.append((begin, end))
    return matches


def device_events(lines: Any, device: int) -> Any:
    """Return the kernels and copies of a GPU, without lines that TensorFlow derives from them."""
    activities = []
    for name, events in lines:
        stream = re.match(r"Stream #(\d+)", name)
        for begin, end, label, _ in events if stream else ():
            low = label.lower()
            category = "gpu_memcpy" if "memcpy" in low else "gpu_memset" if "memset" in low else "kernel"
            title = "Memcpy HtoD" if category == "gpu_memcpy" and ("h2d" in low or "htod" in low) else label
            location = {"device": device, "stream": int(stream.group(1)) if stream else 0}
            activities.append((category, title, begin, end, location["stream"], location))
    return activities


def without(spans: Any, excluded: Any) -> Any:
    """Return the parts of spans outside all others."""
    joined = []  # type: list[list[float]]
    for begin, end in sorted(excluded):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    ends = [stretch[1] for stretch in joined]
    stretches = []
    for begin, end in spans:
        index = bisect.bisect_right(ends, begin)
        while index < len(joined) and joined[index][0] < end:
            if joined[index][0] > begin:
                stretches.append((begin, joined[index][0]))
            begin = joined[index][1]
            index += 1
        if begin < end:
            stretches.append((begin, end))
    return stretches
