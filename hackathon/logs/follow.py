"""Follow the logs of many ranks while they are written, and show their ends."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from hackathon.logs.lines import BLOCK, LONGEST, Splitter
from hackathon.logs.metrics import rank_files, rank_of

PAUSE = 0.5
"""Seconds between two looks: a shared file system is not asked more often."""


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
            stream = self.path.open("rb", buffering=0)
        except OSError:
            return
        with stream:
            stream.seek(self.offset)
            while block := stream.read(BLOCK):
                self.offset += len(block)
                yield from self.splitter.feed(block)


def follow(
    target: Path | Sequence[Path],
    *,
    ranks: Collection[int] | None = None,
    lines: int | None = 10,
    since: float | None = None,
    stop: Callable[[], bool],
    pause: float = PAUSE,
) -> Iterator[tuple[str, str]]:
    """Yield (source, line) of a run's logs, or of the files given, as they grow, until `stop()` says that it is over.

    `source` is the file's name without suffix (`rank-3`, `job`). `lines`: how many of the lines already there come
    first (None: all of them); a file that appears later is read from its beginning. `since`: files last written before
    that time (seconds since 1970) only give what they gain from now on. After `stop()` everything is read once more,
    and then the unfinished last lines come too.
    """
    tracked: dict[Path, _Tracked] = {}
    first = True
    while True:
        over = stop()
        for path in _files(target, ranks):
            if path not in tracked:
                tracked[path] = _Tracked(path, _start(path, lines, since) if first else 0)
        first = False
        for path, file in tracked.items():
            for line in file.read():
                yield path.stem, line
        if over:
            break
        time.sleep(pause)
    for path, file in tracked.items():
        if line := file.splitter.rest():
            yield path.stem, line


def tail(path: Path, n: int) -> list[str]:
    """Return the last `n` lines of a file, an unfinished one included; a missing file has none.

    Reads from the end, at most about n × 64 kB.
    """
    splitter = Splitter()
    found: list[str] = []
    try:
        with path.open("rb", buffering=0) as stream:
            stream.seek(_offset_of_last(path, n))
            while block := stream.read(BLOCK):
                found = [*found, *splitter.feed(block)][-n:] if n > 0 else []
    except OSError:
        return []
    rest = splitter.rest()
    return [*found, *([rest] if rest else [])][-n:] if n > 0 else []


def _files(target: Path | Sequence[Path], ranks: Collection[int] | None) -> list[Path]:
    if not isinstance(target, Path):
        return [path for path in target if ranks is None or rank_of(path) in ranks]
    logs = target / "logs"
    chosen = [path for path in rank_files(logs, ".log") if ranks is None or rank_of(path) in ranks]
    job = logs / "job.log"
    return [job, *chosen] if ranks is None and job.exists() else chosen


def _start(path: Path, lines: int | None, since: float | None) -> int:
    try:
        state = path.stat()
    except OSError:
        return 0
    if since is not None and state.st_mtime < since:
        return state.st_size
    return 0 if lines is None else _offset_of_last(path, lines)


def _offset_of_last(path: Path, n: int) -> int:
    """Return where the last `n` lines begin, in bytes; carriage returns count as line ends, a bound keeps it quick."""
    try:
        with path.open("rb", buffering=0) as stream:
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
                for at in range(len(block) - 1, -1, -1):
                    byte = block[at : at + 1]
                    after = block[at + 1 : at + 2] or following
                    # The end of the file's last line begins no line, and CR LF is one end.
                    if byte == b"\n" or (byte == b"\r" and after not in (b"\n", b"\r")):
                        if start + at + 1 < size:
                            ends += 1
                        if ends == n:
                            return start + at + 1
                following = block[:1]
                position = start
            return least
    except OSError:
        return 0
