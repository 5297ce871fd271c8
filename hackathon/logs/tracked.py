"""Scalars that a program gave to TensorBoard or MLflow, read from their files as metrics.

A scalar counts under the name of the metric, alone or as the last part of its tag: `accuracy`, `train/samples_per_s`. A
metric that two tags could be, or that several runs of a tracker have, is left out: which one is meant is not known.
"""

import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median

from hackathon.runs.directory import RunDirectory
from hackathon.runs.outputs.trackers import event_folders, mlflow_runs
from hackathon.runs.outputs.walk import OutputFile

TRACKER = "tracker"
"""Reliability of a number that only a tracker's files have."""
WARM_UP = 2
"""Values of a rate before those that count, as in a Meter's file; with few values all count."""
_LARGEST = 32 << 20
"""Bytes of one file that are read at most."""
_FILES = 64
_MOST_TAGS = 10_000


def tracked_metrics(
    run: RunDirectory, outputs: Sequence[OutputFile], wanted: Collection[str], rates: Collection[str]
) -> dict[str, float]:
    """Return metric → its number from the trackers' files, for the metrics that are wanted.

    Of `rates` the median without the warm-up counts, of others the last value by step. Files that cannot be read, and
    damaged ones, count as far as they are readable.
    """
    by_run: list[dict[str, list[tuple[int, float]]]] = []
    for files in event_folders(outputs).values():
        tags: dict[str, list[tuple[int, float]]] = {}
        for output in sorted(files, key=lambda entry: entry.path)[:_FILES]:
            for tag, step, value in read_events(_bytes(run, output.path)):
                if len(tags) < _MOST_TAGS or tag in tags:
                    tags.setdefault(tag, []).append((step, value))
        by_run.append(tags)
    names = [output.path for output in outputs]
    for folder, runs in mlflow_runs(outputs).items():
        for name in runs:
            prefix = f"{folder}/{name}/metrics/"
            paths = [path for path in names if path.startswith(prefix)]
            by_run.append({path.removeprefix(prefix): list(_mlflow(_bytes(run, path))) for path in paths[:_MOST_TAGS]})
    found: dict[str, float] = {}
    for metric in wanted:
        series = [values for tags in by_run for values in _matching(tags, metric)]
        if len(series) == 1 and series[0]:
            found[metric] = _number(series[0], rate=metric in rates)
    return found


def read_events(data: bytes) -> Iterator[tuple[str, int, float]]:
    """Yield (tag, step, value) of the scalars in an event file; it may end in the middle of a record.

    The file is a sequence of TFRecords: length (8 bytes, little-endian), its check (4), a message `Event`, its check
    (4). `Event` has step = 2 and summary = 5; `Summary` has value = 1, with tag = 1, simple_value = 2 and tensor = 8;
    `TensorProto` has dtype = 1, tensor_content = 4, float_val = 5 and double_val = 6 (event.proto, summary.proto,
    tensor.proto of TensorFlow).
    """
    position = 0
    while position + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        begin = position + 12
        position = begin + length + 4
        if position > len(data):
            return
        try:
            yield from _event(data[begin : begin + length])
        except (ValueError, struct.error, IndexError):
            continue


def _event(message: bytes) -> Iterator[tuple[str, int, float]]:
    step, summaries = 0, []
    for field, value in _fields(message):
        if field == 2 and isinstance(value, int):
            step = value
        elif field == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for field, entry in _fields(summary):
            if field != 1 or not isinstance(entry, bytes):
                continue
            parts = dict(_fields(entry))
            tag, simple, tensor = parts.get(1), parts.get(2), parts.get(8)
            if not isinstance(tag, bytes):
                continue
            number = None
            if isinstance(simple, bytes) and len(simple) == 4:
                (number,) = struct.unpack("<f", simple)
            elif isinstance(tensor, bytes):
                number = _scalar(tensor)
            if number is not None:
                yield tag.decode("utf-8", "replace"), step, number


def _scalar(tensor: bytes) -> float | None:
    """Return the number of a tensor with one element of type float (1) or double (2); None for others."""
    parts = dict(_fields(tensor))
    form = {1: "<f", 2: "<d"}.get(parts.get(1, 0))  # type: ignore[arg-type]
    if form is None:
        return None
    for field in (4, 5 if form == "<f" else 6):
        raw = parts.get(field)
        if isinstance(raw, bytes) and len(raw) == struct.calcsize(form):
            return float(struct.unpack(form, raw)[0])
    return None


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (number, value) of a message's fields: an integer, or bytes. Raises ValueError for other data."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind = key & 7
        if kind == 0:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        if kind == 2:
            size, position = _varint(message, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("not a message of protobuf")
        if position + size > len(message):
            raise ValueError("a field ends behind its message")
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise ValueError("a number has no end")


def _mlflow(data: bytes) -> Iterator[tuple[int, float]]:
    """Yield (step, value) of one of MLflow's files of a metric: lines `TIME VALUE STEP`."""
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        try:
            yield int(words[2]) if len(words) > 2 else 0, float(words[1])
        except (ValueError, IndexError):
            continue


def _matching(tags: Mapping[str, list[tuple[int, float]]], metric: str) -> list[list[tuple[int, float]]]:
    if metric in tags:
        return [tags[metric]]
    return [values for tag, values in tags.items() if tag.rpartition("/")[2] == metric]


def _number(values: Sequence[tuple[int, float]], *, rate: bool) -> float:
    ordered = [value for _step, value in sorted(values, key=lambda entry: entry[0])]
    if not rate:
        return ordered[-1]
    steady = [value for value in ordered[WARM_UP:] if math.isfinite(value)] or ordered
    return median(steady)


def _bytes(run: RunDirectory, name: str) -> bytes:
    return run.files.read(name, _LARGEST) or b""
