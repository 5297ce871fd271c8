"""Merge the traces of all ranks, on one clock, for Perfetto and chrome://tracing."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from hackathon.profiling.traces.report import Profile
from hackathon.profiling.traces.stream import TraceStream
from hackathon.profiling.traces.trace import Trace
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.json_fields import mapping_of
from hackathon.text.numbers import finite

EVENTS = 1_000_000
"""Events with a duration in the merged trace, at most: browsers support some millions."""
PROCESSES = 1000
"""Range of numbers for each rank's processes and devices."""
DEEPEST = 8
"""Nesting levels that are kept of an event's arguments."""
_WANTED = frozenset("XMsftiI")
_NAMED = frozenset({"process_name", "process_labels", "process_sort_index"})


def write_merged(profile: Profile, target: Path) -> int:
    """Write the traces of a profile as one file; return its number of events. A name in `.gz` is compressed.

    Each rank's processes get numbers and names of their own, and its times those of the first rank's clock. With too
    many events the shortest are omitted. Raises RequestError when a trace cannot be read again, or the file is not
    writable.
    """
    shortest = _shortest(profile)
    draft = target.with_name(f".{target.name}.tmp")
    count = 0
    try:
        with _opened(draft, packed=target.name.endswith(".gz")) as stream:
            stream.write('{"displayTimeUnit":"ms","traceEvents":[\n')
            for rank in profile.traces:
                for event in _events(profile, rank, shortest):
                    stream.write(",\n" if count else "")
                    stream.write(json.dumps(event, separators=(",", ":")))
                    count += 1
            stream.write("\n]}\n")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RequestError(
            "profile.not_written", "{file} could not be written: {what}", file=target, what=error.strerror or error
        ) from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return count


def _opened(path: Path, packed: bool) -> TextIO:
    return gzip.open(path, "wt", 5, "utf-8") if packed else path.open("w", encoding="utf-8")


def _shortest(profile: Profile) -> float:
    """Return the shortest duration of events to keep, in microseconds, so that at most EVENTS remain."""
    total = sum(len(trace.begins) for trace in profile.traces.values())
    if total <= EVENTS:
        return 0.0
    durations = sorted(
        (end - begin for trace in profile.traces.values() for begin, end in zip(trace.begins, trace.ends, strict=True)),
        reverse=True,
    )
    return durations[EVENTS - 1]


def _events(profile: Profile, rank: int, shortest: float) -> Iterator[dict[str, Any]]:
    """Yield the events of a rank for the merged trace, its processes' names first."""
    trace, shift = profile.traces[rank], profile.clocks[rank].shift
    begin = _begin(profile)
    numbers: dict[str, int] = {}
    room = max(1, 2 * EVENTS // len(profile.traces))
    for event in _read(trace):
        phase, at, name = event.get("ph"), finite(event.get("ts")), event.get("name")
        if phase not in _WANTED or at is None or not isinstance(name, str) or not isinstance(event.get("pid"), float):
            continue
        duration = finite(event.get("dur")) or 0.0
        if (phase == "X" and duration < shortest) or (phase == "M" and name in _NAMED):
            continue
        if room == 0:
            return
        room -= 1
        key = str(event["pid"])
        if key not in numbers:
            if len(numbers) >= PROCESSES:
                continue
            numbers[key] = rank * PROCESSES + len(numbers)
            yield _process_name(rank, numbers[key], trace, event)
        entry = {
            "ph": phase, "name": name, "pid": numbers[key], "tid": _thread(event.get("tid")),
            "ts": round(at - trace.origin + shift - begin, 3),
        }  # fmt: skip
        for word in ("cat", "args", "s", "bp"):
            if word in event:
                entry[word] = _plain(event[word])
        if phase == "X":
            entry["dur"] = round(duration, 3)
        if "id" in event:
            entry["id"] = f"{rank}.{_whole(event['id'])}"
        yield entry


def _read(trace: Trace) -> Iterator[dict[str, Any]]:
    try:
        with open_regular(trace.path) as stream:
            yield from TraceStream(stream, trace.file).events()
    except OSError as error:
        raise RequestError(
            "profile.unreadable", "{file} cannot be read: {what}", file=trace.file, what=error.strerror or error
        ) from error


def _begin(profile: Profile) -> float:
    """Return the first time of all ranks, in microseconds of the first one's clock since its origin."""
    return min(min(trace.begins) + profile.clocks[rank].shift for rank, trace in profile.traces.items())


def _process_name(rank: int, number: int, trace: Trace, event: Mapping[str, Any]) -> dict[str, Any]:
    category = str(event.get("cat", "")).lower()
    on_device = "stream" in mapping_of(event.get("args")) or category.startswith("gpu_") or category == "kernel"
    device = mapping_of(event.get("args")).get("device")
    processor = f"GPU {_whole(device)}" if on_device and device is not None else "GPU" if on_device else "CPU"
    name = f"rank {rank} {processor}" + (f" ({trace.host})" if trace.host else "")
    return {"ph": "M", "name": "process_name", "pid": number, "tid": 0, "ts": 0, "args": {"name": name}}


def _thread(value: Any) -> Any:
    return _whole(value) if isinstance(value, float) else str(value)[:100]


def _whole(value: Any) -> Any:
    """Return a number without the `.0` from parsing; other values as text."""
    number = finite(value)
    return str(value)[:100] if number is None else int(number) if number.is_integer() and abs(number) < 1e18 else number


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a JSON value as in the trace: whole numbers whole, and without NaN, which JSON lacks."""
    if isinstance(value, float):
        return _whole(value)
    if isinstance(value, (dict, list)) and depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {key: _plain(member, depth + 1) for key, member in value.items()}
    return [_plain(member, depth + 1) for member in value] if isinstance(value, list) else value
