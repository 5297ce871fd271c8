"""Read a log of any size in overlapping blocks, so that a message across two blocks is not lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from hackathon.text.files import read_data

SIZE = 1 << 20
"""Bytes per read: the block and what is derived from it fit into a processor's cache."""
LINES = 16
"""Context lines on each side of a position, at most."""
REACH = 32 * 1024
"""Context bytes on each side of a position, at most."""


@dataclass
class Block:
    """A part of a log."""

    text: bytes
    base: int = 0
    """Offset of the block in the log."""
    done: int = 0
    """Start of the positions that no earlier block has searched; the text before it is context."""
    end: int = 0
    """End of the positions that this block searches; the text after it is context."""
    lines_before: int = 0
    """Line feeds in the log before the block."""

    @cached_property
    def lowered(self) -> bytes:
        """The text in lower case (ASCII)."""
        return self.text.lower()

    @cached_property
    def decoded(self) -> str:
        """The text decoded from UTF-8."""
        return self.text.decode("utf-8", "replace")

    def of(self, folded: bool) -> bytes:
        """Return the text for a literal: in lower case if its case is ignored."""
        return self.lowered if folded else self.text

    def line(self, position: int) -> int:
        """Return the line number, from 1, of a position in the block."""
        return self.lines_before + self.text.count(b"\n", 0, position) + 1


def read_blocks(stream: BinaryIO, size: int = SIZE) -> Iterator[Block]:
    """Yield the blocks of a log. Each position is searched in exactly one, with up to LINES lines of context.

    Holes of sparse files are skipped; no context reaches across a hole.
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
    """Return the start of the line that is LINES lines before a position, at most REACH bytes before it."""
    least = max(0, position - REACH)
    for _ in range(LINES + 1):
        newline = text.rfind(b"\n", least, position)
        if newline < 0:
            return least
        position = newline
    return position + 1
