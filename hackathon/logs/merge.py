"""Merge the logs of all ranks by time, with rank and host; only the requested part is read and stored."""

import heapq
import os
import time as clock
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from hackathon.logs.follow import log_files, offset_of_last
from hackathon.logs.lines import BLOCK, LONGEST, Splitter
from hackathon.logs.metrics import rank_of
from hackathon.logs.prefixes import SAMPLE, is_labelled, read_prefix
from hackathon.runs.events import rank_events
from hackathon.text.files import open_regular, read_data

AHEAD = 200
"""Lines without a time at a log's start that wait for the first time in it."""
SHARED = 20
"""Factor for the lines to read of a log of all ranks if only some ranks are requested."""
PROBE = 1 << 20
"""Bytes after a position that are searched for a time."""
UNDATED = 50
"""Last lines of a log without times that are returned for `since`."""
HELD = 64 << 20
"""Bytes of all readers' blocks together, at most."""
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, with its facts."""

    text: str
    """Without prefixes of launchers and loggers, escape sequences and text overwritten after a carriage return."""
    rank: int | None
    host: str
    time: float | None
    """The line's own time, seconds since 1970; None without one."""
    source: str
    """The file's name without suffix: `rank-3`, `job`, `scheduler`."""
    level: str = ""
    """D, I, W, E, F or C, if a logger wrote it."""


class LogReader:
    """Creates Lines from the lines of one run's logs, both finished and growing ones."""

    def __init__(self, run: Path | None = None, now: float | None = None) -> None:
        self.now = clock.time() if now is None else now
        self._labelled: dict[Path, bool] = {}
        self.hosts: dict[int, str] = {}
        """The host of each rank by the run's events."""
        self._begun: dict[int, float] = {}
        self._ended: dict[int, float] = {}
        for rank, events in rank_events(run).items() if run is not None else ():
            for event in events:
                moment = event.get("t")
                if not isinstance(moment, (int, float)):
                    continue
                if event.get("event") == "started":
                    self._begun.setdefault(rank, float(moment))
                    self._ended.pop(rank, None)
                    self.hosts[rank] = str(event.get("host") or "")
                elif event.get("event") == "ended":
                    self._ended[rank] = float(moment)
        self._least = min(self._begun.values(), default=_DAY) - _DAY

    def line(self, path: Path, text: str) -> Line:
        """Return a line of a file with its facts; the rank in a file's name takes precedence over one in the line."""
        number = rank_of(path)
        prefix = read_prefix(text, self.now, labelled=number < 0 and self._is_labelled(path))
        rank = prefix.rank if number < 0 else number
        host = (self.hosts.get(rank, "") if rank is not None else "") or prefix.host
        # Programs print other times, too: one before the run or in the future is not when the line was written.
        own = prefix.time if prefix.time is not None and self._least <= prefix.time <= self.now + _DAY else None
        return Line(prefix.text, rank, host, own, path.stem, prefix.level)

    def end(self, path: Path) -> float:
        """Return when a file's last lines were written: its rank's end, else the file's own time."""
        try:
            moment = path.stat().st_mtime
        except OSError:
            moment = self.now
        return min(self._ended.get(rank_of(path), moment), moment)

    def start(self, path: Path) -> float:
        """Return the earliest time at which a file's first lines may have been written."""
        return self._begun.get(rank_of(path), self._least)

    def _is_labelled(self, path: Path) -> bool:
        if path not in self._labelled:
            self._labelled[path] = is_labelled(islice(lines_between(path, 0, BLOCK), SAMPLE))
        return self._labelled[path]


def merged(
    target: Path | Sequence[Path],
    reader: LogReader,
    *,
    ranks: Collection[int] | None = None,
    lines: int | None = None,
    since: float | None = None,
    ends: Mapping[Path, int] | None = None,
) -> Iterator[Line]:
    """Yield the lines of a run's logs, or of the specified files, by time.

    A line without a time has that of the previous line in its file. In a file without times every line counts as
    written when its rank ended, so that the rank that failed first comes first. `ranks`: only these. `lines`: only the
    last ones of each log (None: all). `since`: only later lines (seconds since 1970); of a file without times its last
    lines, or none if it was last written before. `ends`: file sizes at which to stop. Reads each file once, from the
    first requested line on; memory does not grow with the files.
    """
    files = log_files(target, ranks)
    block = max(BLOCK // 16, min(BLOCK, HELD // max(1, len(files))))
    streams: list[Iterator[tuple[float, int, Line]]] = []
    for path in files:
        end = reader.end(path)
        begun = reader.start(path)
        size = (ends or {}).get(path, _size(path))
        shared = ranks is not None and rank_of(path) < 0
        count = lines
        start = 0
        if since is not None:
            offset = offset_since(path, since, reader)
            if offset is None:
                if end < since:
                    continue
                count, begun = lines if lines is not None else UNDATED, end
            start = offset or 0
        if count is not None:
            start = max(start, offset_of_last(path, count * (SHARED if shared else 1), states=False))
        stream = _chosen(lines_between(path, start, size, block), path, reader, ranks)
        if shared and count is not None:
            stream = iter(deque(stream, maxlen=count))
        streams.append(_timed(stream, begun, end, len(streams)))
    for moment, _, line in heapq.merge(*streams, key=lambda entry: entry[:2]):
        if since is None or moment >= since:
            yield line


def _chosen(texts: Iterator[str], path: Path, reader: LogReader, ranks: Collection[int] | None) -> Iterator[Line]:
    for text in texts:
        line = reader.line(path, text)
        if ranks is None or line.rank in ranks:
            yield line


def lines_between(path: Path, start: int, end: int, block: int = BLOCK) -> Iterator[str]:
    """Yield the lines between two byte positions of a file, including an incomplete last one.

    The file is opened for each block, so that a thousand ranks do not need a thousand open files.
    """
    splitter = Splitter(states=False)
    while start < end:
        try:
            with open_regular(path) as stream:
                stream.seek(start)
                start, data = next(read_data(stream, block, start, end), (end, b""))
        except OSError:
            return
        start += len(data)
        yield from splitter.feed(data.strip(b"\0"))
    if unfinished := splitter.rest():
        yield unfinished


def complete_end(path: Path) -> int:
    """Return the end of a file's last complete line, or state of a progress bar, in bytes."""
    try:
        with open_regular(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            start = max(0, size - LONGEST)
            stream.seek(start)
            data = stream.read(size - start)
            at = max(data.rfind(b"\n"), data.rfind(b"\r"))
            return start + at + 1 if at >= 0 else start
    except OSError:
        return 0


def offset_since(path: Path, since: float, reader: LogReader) -> int | None:
    """Return a position at or before the first line written since `since`, None for a log without times.

    Goes back from the end in growing steps, then bisects the last one: reads about PROBE bytes at each.
    """
    size = _size(path)
    if _first_time(path, 0, reader) is None and _first_time(path, max(0, size - PROBE), reader) is None:
        return None
    low, high = 0, size
    step = PROBE
    while size - step > 0:
        moment = _first_time(path, size - step, reader)
        if moment is not None and moment < since:
            low = size - step
            break
        high = size - step
        step *= 2
    while high - low > PROBE:
        middle = (low + high) // 2
        moment = _first_time(path, middle, reader)
        if moment is not None and moment < since:
            low = middle
        else:  # a position without a time may be later, too: then more is read than necessary
            high = middle
    if low == 0:
        return 0
    with open_regular(path) as stream:
        stream.seek(low)
        return low + stream.read(PROBE).find(b"\n") + 1


def _first_time(path: Path, offset: int, reader: LogReader) -> float | None:
    for number, text in enumerate(lines_between(path, offset, offset + PROBE)):
        if (number or not offset) and (moment := reader.line(path, text).time) is not None:
            return moment
    return None


def _timed(stream: Iterator[Line], begun: float, end: float, order: int) -> Iterator[tuple[float, int, Line]]:
    """Yield (time to sort by, order, line); the times never decrease."""
    head = list(islice(stream, AHEAD))
    first = next((line.time for line in head if line.time is not None), None)
    moment = first if first is not None else end if len(head) < AHEAD else begun
    for part in (head, stream):
        for line in part:
            if line.time is not None and line.time > moment:
                moment = line.time
            yield moment, order, line


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
