"""Follow the logs of many ranks while they are written, and return their ends."""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from hackathon.logs.lines import BLOCK, LONGEST, Splitter
from hackathon.logs.metrics import rank_files, rank_of
from hackathon.runs.directory import guarded
from hackathon.text.files import open_regular, read_data

SHARED = ("scheduler.log", "scheduler-errors.log", "job.log")
"""Logs of a run without a rank, in reading order. The second one exists for schedulers with a separate error file."""
LOGS = "logs"
"""The folder of a run with the logs of its newest attempt."""
_EARLIER = re.compile(r"attempt-([1-9][0-9]{0,5})")
PAUSE = 0.5
"""Seconds between two reads, to spare a shared file system."""
PORTION = 5000
"""Lines per portion, at most, so that memory does not grow with the output between two reads."""
_ENDS, _FEEDS = re.compile(rb"[\r\n]"), re.compile(rb"\n")


class _Tracked:
    """One file with its read position. It is opened for each read, so that a thousand ranks need no open files."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.identity: tuple[int, int] | None = None
        self.splitter = Splitter()

    def read(self) -> Iterator[str]:
        """Yield the lines completed since the last read; start again when the file was truncated or replaced."""
        try:
            state = self.path.stat()
        except OSError:
            return
        identity = (state.st_dev, state.st_ino)
        if state.st_size < self.offset or self.identity not in (None, identity):
            self.offset, self.splitter = 0, Splitter()
        self.identity = identity
        if state.st_size == self.offset:
            return
        try:
            stream = open_regular(self.path)
        except OSError:
            return
        with stream:
            stream.seek(self.offset)
            for position, block in read_data(stream, BLOCK, self.offset):
                self.offset = position + len(block)
                yield from self.splitter.feed(block.strip(b"\0"))


def follow(
    target: Path | Sequence[Path],
    *,
    ranks: Collection[int] | None = None,
    starts: Mapping[Path, int] | None = None,
    stop: Callable[[], bool],
    pause: float = PAUSE,
) -> Iterator[list[tuple[Path, str]]]:
    """Yield the new lines of a run's logs, or of the specified files, until `stop()` returns True.

    Each item has (file, line) in the order of files, at most PORTION lines. `starts`: bytes of files to skip; a new
    file is read from its start. After `stop()` everything is read once more, including unfinished last lines.
    """
    tracked = {path: _Tracked(path, offset) for path, offset in (starts or {}).items()}
    while True:
        over = stop()
        lines: list[tuple[Path, str]] = []
        for path in log_files(target, ranks):
            for line in tracked.setdefault(path, _Tracked(path)).read():
                lines.append((path, line))
                if len(lines) >= PORTION:
                    yield lines
                    lines = []
        if lines:
            yield lines
        if over:
            break
        time.sleep(pause)
    unfinished = [(path, line) for path, file in tracked.items() if (line := file.splitter.rest())]
    if unfinished:
        yield unfinished


def tail(path: Path, n: int) -> list[str]:
    """Return the last `n` lines of a file, including an unfinished one; a missing file has none.

    Reads from the end, at most about n × 64 kB.
    """
    splitter = Splitter()
    lines: list[str] = []
    try:
        with open_regular(path) as stream:
            stream.seek(offset_of_last(path, n))
            while block := stream.read(BLOCK):
                lines = [*lines, *splitter.feed(block)][-n:] if n > 0 else []
    except OSError:
        return []
    unfinished = splitter.rest()
    return [*lines, *([unfinished] if unfinished else [])][-n:] if n > 0 else []


def earlier_logs(run: Path) -> dict[int, str]:
    """Return attempt → the folder of its logs in a run; the newest attempt has none of its own."""
    try:
        names = [path.name for path in (guarded(run) / LOGS).iterdir()]
    except OSError:
        return {}
    numbers = sorted(int(match[1]) for name in names if (match := _EARLIER.fullmatch(name)))
    return {number: f"{LOGS}/attempt-{number}" for number in numbers}


def log_files(
    target: Path | Sequence[Path], ranks: Collection[int] | None = None, folder_name: str = LOGS
) -> list[Path]:
    """Return the logs of a run directory: the scheduler's, the job's, the ranks' in order; or the specified files.

    With `ranks` only their logs and the job's, because an adopted job's log has lines of all ranks. `folder_name`: of
    `earlier_logs`.
    """
    if not isinstance(target, Path):
        return [path for path in target if ranks is None or rank_of(path) in ranks or rank_of(path) < 0]
    folder = guarded(target) / folder_name
    chosen = [path for path in rank_files(folder, ".log") if ranks is None or rank_of(path) in ranks]
    shared = SHARED if ranks is None else ("job.log",)
    return [*(path for name in shared if (path := folder / name).is_file()), *chosen]


def offset_of_last(path: Path, n: int, *, states: bool = True) -> int:
    """Return where the last `n` lines begin, in bytes. Reads from the end, at most about n × LONGEST bytes.

    Carriage returns count as line ends unless `states` is False.
    """
    try:
        with open_regular(path) as stream:
            size = position = stream.seek(0, os.SEEK_END)
            if n <= 0:
                return size
            least = max(0, size - n * LONGEST)
            ends = 0
            following = b""
            while position > least:
                start = max(least, position - BLOCK)
                stream.seek(start)
                block = stream.read(position - start)
                for end in reversed([*_ENDS.finditer(block)] if states else [*_FEEDS.finditer(block)]):
                    at = end.start()
                    after = block[at + 1 : at + 2] or following
                    # The end of the file's last line begins no line, and CR LF is one end.
                    if end.group() == b"\r" and after in (b"\n", b"\r"):
                        continue
                    if start + at + 1 < size:
                        ends += 1
                    if ends == n:
                        return start + at + 1
                following = block[:1]
                position = start
            return least
    except OSError:
        return 0
