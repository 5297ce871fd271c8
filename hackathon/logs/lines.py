"""Split bytes of a log into lines, including those of progress bars, in bounded memory."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from hackathon.text.files import open_regular, read_data
from hackathon.text.printable import without_escapes

LONGEST = 64 * 1024
"""Bytes of one line that are stored; the rest of a longer line is dropped."""
BLOCK = 256 * 1024
SMALL = 4096
"""Bytes per read, at least."""

_END = re.compile(rb"\r\n|\n|\r")


def clean(raw: bytes) -> str:
    """Return a line as text: decoding never fails, and terminal escape sequences are removed."""
    return without_escapes(raw.decode("utf-8", "replace"))


class Splitter:
    """Accepts bytes in portions of any size and returns complete lines.

    A line ends with LF, CR LF or CR (progress bars return to the line's start); empty lines are kept only if a bare LF
    creates them. At most LONGEST bytes of an unfinished line are stored. With `states` False, text that was overwritten
    after a CR is dropped, so that only the last state of a progress bar remains.
    """

    def __init__(self, *, states: bool = True) -> None:
        self._rest = b""
        self._after_return = False
        self._states = states
        self._state = b""

    def feed(self, block: bytes) -> Iterator[str]:
        """Yield the lines that this block completes."""
        if self._after_return and block.startswith(b"\n"):
            if self._state:
                yield self._written_over()
            block = block[1:]
        self._after_return = block.endswith(b"\r")
        if b"\r" not in block and b"\x1b" not in block and not self._state:
            yield from self._plain(block)
            return
        start = 0
        for end in _END.finditer(block):
            line = (self._rest + block[start : min(end.start(), start + LONGEST)])[:LONGEST]
            self._rest = b""
            start = end.end()
            if end.group() == b"\r" and not self._states:
                self._state = line or self._state
            elif line or self._state or end.group() == b"\n":
                line, self._state = line or self._state, b""
                yield clean(line)
        self._rest = (self._rest + block[start : start + LONGEST])[:LONGEST]

    def _plain(self, block: bytes) -> Iterator[str]:
        """Yield the lines of a block with line feeds only and no escapes: most logs, several times as fast."""
        first, *lines = block.split(b"\n")
        self._rest = (self._rest + first[:LONGEST])[:LONGEST]
        if lines:
            yield self.rest()
            self._rest = lines.pop()[:LONGEST]
            for line in lines:
                yield line[:LONGEST].decode("utf-8", "replace")

    def _written_over(self) -> str:
        state, self._state = self._state, b""
        return clean(state)

    def rest(self) -> str:
        """Return the text after the last line end, and reset."""
        line, self._rest, self._state = self._rest or self._state, b"", b""
        return clean(line)


def line_ends(path: Path, end: int) -> int:
    """Return the number of line feeds before byte `end` of a file; holes have none. Raises OSError."""
    with open_regular(path) as stream:
        return sum(block.count(b"\n") for _, block in read_data(stream, 1 << 20, end=end))


def read_lines(path: Path, *, torn: bool = False, last: int = 0) -> Iterator[str]:
    """Yield the lines of a log from its beginning; a missing file has none.

    `torn`: include a last line without a line end (the writer has finished, so it is complete). `last`: of a larger
    file only the complete lines within this many bytes at its end; 0: all of it.
    """
    try:
        stream = open_regular(path)
    except OSError:
        return
    splitter = Splitter()
    with stream:
        # allocate no more than the file needs: for thousands of small files this costs more than reading
        bytes_there = os.fstat(stream.fileno()).st_size
        size = min(BLOCK, bytes_there + SMALL)
        begin = stream.seek(bytes_there - last - 1) if 0 < last < bytes_there else 0
        torn_first = begin > 0  # or complete and empty: a line ended exactly there
        for _, block in read_data(stream, size, begin):
            # with the zeros of a hole, the first line would be too long
            lines = splitter.feed(block.strip(b"\0"))
            if torn_first and next(lines, None) is not None:
                torn_first = False
            yield from lines
    if torn and (line := splitter.rest()):
        yield line
