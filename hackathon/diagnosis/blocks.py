"""Read a log of any size in blocks that overlap, so that nothing is lost between two of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from hackathon.text.files import read_data

SIZE = 1 << 20
"""Bytes that are read at once: they and what is made of them fit a processor's cache."""
LINES = 16
"""Lines around a place that belong to it at most."""
REACH = 32 * 1024
"""Bytes around a place that belong to it at most, whatever the lines."""


@dataclass
class Block:
    """A piece of a log."""

    text: bytes
    base: int = 0
    """Bytes of the log before it."""
    done: int = 0
    """Where places begin that no block before has looked at; the text before is there for what it tells about them."""
    end: int = 0
    """Where the places end that this block looks at; the text behind is there for what it tells about them."""
    lines_before: int = 0
    """Line feeds of the log before it."""

    @cached_property
    def lowered(self) -> bytes:
        """The text in small letters (ASCII)."""
        return self.text.lower()

    @cached_property
    def decoded(self) -> str:
        """The text as letters."""
        return self.text.decode("utf-8", "replace")

    def line(self, position: int) -> int:
        """Return the number of the line, from 1, in which a position lies."""
        return self.lines_before + self.text.count(b"\n", 0, position) + 1


def read_blocks(stream: BinaryIO, size: int = SIZE) -> Iterator[Block]:
    """Yield the blocks of a log: each place is looked at in exactly one, with up to LINES lines around it.

    Holes of sparse files are no places: they are passed over, and nothing around a place reaches across one.
    """
    remaining, base, done, lines = b"", 0, 0, 0
    for start, read in read_data(stream, size):
        if not read:
            if remaining:
                yield Block(remaining, base, done, len(remaining), lines)
            lines += remaining.count(b"\n")
            remaining, base, done = b"", start, 0
            continue
        text = remaining + read
        end = max(done, _back(text, len(text)))
        yield Block(text, base, done, end, lines)
        keep = _back(text, end)
        remaining = text[keep:]
        lines += text.count(b"\n", 0, keep)
        base, done = base + keep, end - keep
    yield Block(remaining, base, done, len(remaining), lines)


def _back(text: bytes, position: int) -> int:
    """Return where the line LINES before a position begins, at most REACH bytes before it."""
    least = max(0, position - REACH)
    for _ in range(LINES + 1):
        newline = text.rfind(b"\n", least, position)
        if newline < 0:
            return least
        position = newline
    return position + 1
