"""Follow the logs of many ranks while they are written, and show their ends."""

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
"""Logs of a run that belong to no rank, in the order in which they are read. The second one is there where a scheduler
writes into a file of errors why a job ended."""
PAUSE = 0.5
"""Seconds between two looks: a shared file system is not asked more often."""
PORTION = 5000
"""Lines that one portion has at most, so that memory does not grow with what was written between two looks."""
_ENDS, _FEEDS = re.compile(rb"[\r\n]"), re.compile(rb"\n")


class _Tracked:
    """One file and how far it was read. It is opened for each look, so that a thousand ranks need no open files."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.identity: tuple[int, int] | None = None
        self.splitter = Splitter()

    def read(self) -> Iterator[str]:
        """Yield the lines that were completed since the last look; begin anew when the file was cut or replaced."""
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
    """Yield what a run's logs, or the files given, gained at each look, until `stop()` says that it is over.

    A look gives (file, line) in the order of files, at most PORTION lines at once. `starts`: bytes of files that are
    not read; a file that appears later is read from its beginning. After `stop()` everything is read once more, and
    then the unfinished last lines come too.
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
    """Return the last `n` lines of a file, an unfinished one included; a missing file has none.

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


def log_files(target: Path | Sequence[Path], ranks: Collection[int] | None = None) -> list[Path]:
    """Return the logs of a run directory: the scheduler's, the job's, the ranks' in their order; or the files given.

    With `ranks` only those of these ranks, and the job's, for that of an adopted job holds lines of all ranks.
    """
    if not isinstance(target, Path):
        return [path for path in target if ranks is None or rank_of(path) in ranks or rank_of(path) < 0]
    folder = guarded(target) / "logs"
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
