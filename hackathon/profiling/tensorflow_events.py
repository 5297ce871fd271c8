"""Read what `tf.profiler` wrote, in the words of torch.profiler.

TensorFlow leaves its events in a file of its own, `xplane.pb`, which only TensorBoard's plug-in makes JSON of. It is a
message of protobuf (`xplane.proto` of TSL), of which the few fields that are needed are read here.

`tensorflow_trace.py` uses this file beside it, in the program's Python (3.6 or newer).
"""

import bisect
import glob
import os
import re
from typing import Any

MOST = 1000000
"""Events that are kept at most."""
LARGEST = 1 << 30
"""Bytes of TensorFlow's file that are read at most."""
MARK = "hackathon-step"
OPERATOR = re.compile(r"[^:]+:(_?[A-Z]\w*)\Z")
"""`name of the node:kernel`, as a kernel's event is called."""
EAGER = re.compile(r"EagerLocalExecute: (\w+)\Z")
"""An operator that the program calls; functions, which have operators within them, begin with `__`."""
PROCESS, CAPTURED = "ExecutorState::Process", "InstantiatedCapturedFunction::"
"""What a thread does for a graph; what the input pipeline does by functions of the program."""
BEGUN, ENDED = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"
"""Ends of an operator that waits, on two threads."""
NEXT = "IteratorGetNext"
PIPELINE = ("tf_data", "collective_ops")
"""Beginnings of names of threads whose operators are not the step's computing."""
COLLECTIVES = (
    ("CollectiveReduceScatter", "reduce_scatter"), ("CollectiveReduce", "all_reduce"),
    ("CollectiveGather", "all_gather"), ("CollectiveAllToAll", "all_to_all"), ("CollectiveBcast", "broadcast"),
    ("HorovodAllreduce", "all_reduce"), ("HorovodGroupedAllreduce", "all_reduce"), ("HorovodAllgather", "all_gather"),
    ("HorovodBroadcast", "broadcast"), ("HorovodAlltoall", "all_to_all"), ("HorovodReducescatter", "reduce_scatter"),
)  # fmt: skip
"""Beginning of a kernel's name → what it does."""
XLA, COMPILED = re.compile(r"\w*Executable::Execute\w*\Z"), "compiled function"
"""What XLA has compiled: newer versions have events for it; in older ones a call has nothing within it."""
CONTAINERS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf"})
"""Kernels with others within them."""


# ---- TensorFlow's file: XSpace { planes = 1 }, XPlane { name = 2, lines = 3, event_metadata = 4, stat_metadata = 5 },
# XLine { name = 2, timestamp_ns = 3, events = 4 },
# XEvent { metadata_id = 1, offset_ps = 2, duration_ps = 3, stats = 4 },
# XEventMetadata { id = 1, name = 2 }, XStat { metadata_id = 1, uint64 = 3, int64 = 4, str = 5, ref = 7 }


def fields(data: Any) -> Any:
    """Yield (number, value) of the fields of a message: an integer, or bytes. Raises ValueError for what is none."""
    place, end = 0, len(data)
    while place < end:
        key, place = varint(data, place)
        kind = key & 7
        if kind == 0:
            value, place = varint(data, place)
        elif kind in (1, 2, 5):
            size, place = varint(data, place) if kind == 2 else ({1: 8, 5: 4}[kind], place)
            value, place = data[place : place + size], place + size
            if place > end:
                raise ValueError("a field ends behind its message")
        else:
            raise ValueError("not a message of protobuf")
        yield key >> 3, value


def varint(data: Any, place: int) -> Any:
    """Return (number, place behind it). Raises ValueError."""
    value = shift = 0
    while shift < 70:
        if place >= len(data):
            break
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError("a number has no end")


def text(value: Any) -> str:
    """Return a text of a message; a number gives none."""
    return "" if isinstance(value, int) else bytes(value).decode("utf-8", "replace")


def number(value: Any) -> int:
    """Return a number of a message; bytes give 0."""
    return value if isinstance(value, int) else 0


def parts(data: Any, wanted: Any) -> Any:
    """Return field → its last value, of some fields."""
    return {field: value for field, value in fields(data) if field in wanted} if not isinstance(data, int) else {}


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
                told = parts(entry.get(2, b""), (2,))
                (names if field == 4 else stats)[number(entry.get(1, 0))] = text(told.get(2, b""))
        for line in lines:
            self.lines.append(self.read(line, names, stats))

    def read(self, data: Any, names: Any, stats: Any) -> Any:
        """Return (name of a thread, its events by their beginning)."""
        name, start, events, found = "", 0.0, [], []  # type: Any, float, list[Any], list[Any]
        for field, value in fields(data):
            if field == 2:
                name = text(value)
            elif field == 3:
                start = number(value) / 1e3
            elif field == 4:
                events.append(value)
        for each in events:
            told = parts(each, (1, 2, 3))
            what = names.get(told.get(1, 0), "")
            begin = start + number(told.get(2, 0)) / 1e6
            needed = what in (PROCESS, BEGUN, ENDED) or what.startswith(CAPTURED)
            values = values_of(each, stats) if needed else {}
            found.append((begin, begin + number(told.get(3, 0)) / 1e6, what, values))
        found.sort(key=lambda event: (event[0], -event[1]))
        return name, found


def values_of(event: Any, stats: Any) -> Any:
    """Return name → value of what an event tells of itself."""
    found = {}
    for field, value in fields(event):
        if field == 4:
            told = parts(value, (1, 3, 4, 5, 7))
            name = stats.get(told.get(1), "")
            given = next((told[each] for each in (3, 4, 5) if each in told), None)
            if given is None:
                found[name] = stats.get(told.get(7), "")
            else:
                found[name] = given if isinstance(given, int) else text(given)
    return found


def planes_in(folder: str) -> Any:
    """Return the planes of what TensorFlow wrote. Raises ValueError, OSError."""
    files = glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb"))
    if not files:
        raise ValueError("tf.profiler wrote no xplane.pb")
    if os.path.getsize(files[0]) > LARGEST:
        raise ValueError("tf.profiler wrote more than 1 GiB: record fewer steps")
    with open(files[0], "rb") as stream:
        return [Plane(value) for field, value in fields(memoryview(stream.read())) if field == 1]


# ---- what its events mean


def events_in(folder: str, ends: Any, first: int) -> Any:
    """Return `recorded_events` of what TensorFlow wrote. Raises ValueError, OSError."""
    return recorded_events(planes_in(folder), ends, first)


def recorded_events(planes: Any, ends: Any, first: int) -> Any:
    """Return (category, name, begin, end, thread, arguments) of what steps did, in the words of torch.profiler.

    `ends`: moments of the ends of steps, `first`: the number of the step behind the first one. Raises ValueError
    where the program's own thread is not found.
    """
    found = []  # type: list[Any]
    shift = None
    for plane in planes:
        if plane.name == "/host:CPU":
            main = next((place for place, (_, each) in enumerate(plane.lines) if any(e[2] == MARK for e in each)), None)
            if main is None:
                break
            marks = [begin for begin, _, name, _ in plane.lines[main][1] if name == MARK]
            known = list(zip(reversed(marks), reversed(ends)))
            shift = sorted(end - mark for mark, end in known)[len(known) // 2]
            found += host_events(plane.lines, main)
    if shift is None:
        raise ValueError("tf.profiler recorded no event of the program's own thread")
    thread = next(each[4] for each in found if each[1] == MARK)
    for plane in planes:
        device = re.match(r"/device:GPU:(\d+)", plane.name)
        if device:
            found += device_events(plane.lines, int(device.group(1)))
    steps = [
        ("user_annotation", "ProfilerStep#%d" % (first + place), begin, end, thread, {})
        for place, (begin, end) in enumerate(zip(ends, ends[1:]))
    ]  # type: list[Any]
    moved = [(*each[:2], each[2] + shift, each[3] + shift, *each[4:]) for each in found if each[1] != MARK]
    inside = sorted((each for each in moved if each[3] > ends[0] and each[2] < ends[-1]), key=lambda each: each[2])
    if len(inside) > MOST:
        del inside[MOST:]
        steps = [each for each in steps if each[3] <= inside[-1][2]]
        if not steps:
            raise ValueError("a step has more than %d events" % MOST)
    return steps + inside


def host_events(lines: Any, main: int) -> Any:
    """Return the events of a host's threads; each is numbered from 1 on."""
    captured = set()  # type: set[Any]
    for _, events in lines:
        captured.update(values.get("id") for _, _, name, values in events if name.startswith(CAPTURED))
    operators, waits, calls, collectives = [], [], [], []  # type: list[Any], list[Any], list[Any], list[Any]
    begun, ended = {}, {}  # type: Any, Any
    for place, (thread, events) in enumerate(lines):
        until = 0.0
        """End of what this thread does for the input pipeline."""
        for begin, end, name, values in events:
            kernel, eager = OPERATOR.match(name), EAGER.match(name)
            if name == PROCESS:
                until = end if values.get("id") in captured else until if begin < until else 0.0
            elif name == MARK:
                operators.append(("user_annotation", MARK, begin, end, place + 1, {}))
            elif name == BEGUN and values.get("step_id") not in captured:
                begun[values.get("_p")] = begin, str(values.get("name")), str(values.get("kernel_type"))
            elif name == ENDED:
                ended[values.get("_c")] = begin
            elif eager and eager.group(1).startswith(NEXT):
                waits.append((begin, end))
            elif eager and eager.group(1).startswith("__"):
                calls.append((begin, end))
            elif eager and collective(eager.group(1)):
                what = "tf:" + collective(eager.group(1))
                collectives.append(("cpu_op", what, begin, end, place + 1, {"Process Group Name": eager.group(1)}))
            elif eager:
                operators.append(("cpu_op", eager.group(1), begin, end, place + 1, {}))
            elif XLA.match(name):
                operators.append(("cpu_op", "XLA", begin, end, place + 1, {}))
            elif kernel and begin >= until and not thread.startswith(PIPELINE):
                what = kernel.group(1)
                if what not in CONTAINERS and not collective(what):
                    operators.append(("cpu_op", what, begin, end, place + 1, {}))
    fetched = []  # type: list[Any]
    for key, (begin, node, kernel) in begun.items():
        end = ended.get(key)
        what = collective(kernel)
        if end is not None and what:
            group = {"Process Group Name": node}
            collectives.append(("cpu_op", "tf:" + what, begin, end, len(lines) + 1, group))
        elif end is not None and kernel.startswith(NEXT):
            fetched.append((begin, end))
        elif end is not None and kernel.lstrip("_").startswith("Xla"):
            operators.append(("cpu_op", "XLA", begin, end, len(lines) + 2, {}))
        elif end is not None and kernel in CONTAINERS:
            calls.append((begin, end))
    computed = sorted(each[2:4] for each in operators if each[0] == "cpu_op")
    waits += without(fetched, computed)
    for begin, end in without(empty(calls, computed), waits + [each[2:4] for each in collectives]):
        operators.append(("cpu_op", COMPILED, begin, end, len(lines) + 2, {}))
    return operators + collectives + [("user_annotation", "data", begin, end, main + 1, {}) for begin, end in waits]


def collective(kernel: str) -> str:
    """Return what a kernel does together with other processes, empty when it does not."""
    return next((each for start, each in COLLECTIVES if kernel.startswith(start)), "")


def empty(calls: Any, operators: Any) -> Any:
    """Return the calls in which no operator begins; operators by their beginning."""
    found = []
    for begin, end in calls:
        place = bisect.bisect_left(operators, (begin,))
        if place == len(operators) or operators[place][0] > end:
            found.append((begin, end))
    return found


def device_events(lines: Any, device: int) -> Any:
    """Return the kernels and copies of a GPU; lines that TensorFlow derives from them are passed over."""
    found = []
    for name, events in lines:
        stream = re.match(r"Stream #(\d+)", name)
        for begin, end, what, _ in events if stream else ():
            low = what.lower()
            category = "gpu_memcpy" if "memcpy" in low else "gpu_memset" if "memset" in low else "kernel"
            told = "Memcpy HtoD" if category == "gpu_memcpy" and ("h2d" in low or "htod" in low) else what
            place = {"device": device, "stream": int(stream.group(1)) if stream else 0}
            found.append((category, told, begin, end, place["stream"], place))
    return found


def without(spans: Any, others: Any) -> Any:
    """Return the stretches of spans in which none of the others is."""
    joined = []  # type: list[list[float]]
    for begin, end in sorted(others):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    ends = [each[1] for each in joined]
    found = []
    for begin, end in spans:
        place = bisect.bisect_right(ends, begin)
        while place < len(joined) and joined[place][0] < end:
            if joined[place][0] > begin:
                found.append((begin, joined[place][0]))
            begin = joined[place][1]
            place += 1
        if begin < end:
            found.append((begin, end))
    return found
