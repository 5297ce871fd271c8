"""A position in a log with its surrounding lines, without escape sequences and launchers' prefixes."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hackathon.diagnosis.blocks import LINES, Block
from hackathon.logs.lines import clean
from hackathon.logs.prefixes import Prefixed, read_prefix

NEAR = 4 * 1024
"""Bytes of a line that are read on each side of a position."""
BEFORE, AFTER = 3, 5
"""Lines before and after a position over which one message may be torn."""
UNLESS = 3
"""Lines after a position that are searched for `unless`."""
SHOWN = 500
"""Characters of a line that are kept as evidence."""
FULL = 60
"""Length of a raw line from which a terminal may have wrapped it."""
_ENDS = re.compile(rb"[\r\n]+")


@dataclass(frozen=True)
class CleanLine:
    """A cleaned line."""

    prefixed: Prefixed
    raw: int
    """Its length before its prefix was removed."""

    @property
    def text(self) -> str:
        """The line without its prefix."""
        return self.prefixed.text


@dataclass(frozen=True)
class Match:
    """A match of a pattern."""

    start: int
    """Start, in the block, of the line in which it begins."""
    prefixed: Prefixed
    """That line."""
    text: str
    """The line; for a torn message, its lines joined; for a long line, the part around the match."""
    values: dict[str, str]


class Window:
    """The lines around a position. Its own line is read at once, the others on first use."""

    def __init__(self, block: Block, position: int, now: float | None, labelled: bool) -> None:
        self._block, self._now, self._labelled = block, now, labelled
        text = block.text
        self.start = line_start(text, position)
        self.end = line_end(text, position)
        self.own = self._line(self.start, self.end)

    def search(self, expression: re.Pattern[str]) -> Match | None:
        """Return the first match within the position's own line."""
        match = expression.search(self.own.text)
        if match is None:
            return None
        return Match(self.start, self.own.prefixed, _shown(self.own.text, match.start()), _values(match))

    def search_torn(self, expression: re.Pattern[str], *, wide: bool) -> Match | None:
        """Return the first match that is torn over several lines, among them the position's own.

        A launcher that wraps at words loses the space; a terminal that wraps at a width loses nothing.
        """
        for joint in ("", " "):
            pieces = [line.text.strip() if joint else line.text for line in self.lines]
            joined = joint.join(pieces)
            starts = [0]
            for piece in pieces:
                starts.append(starts[-1] + len(piece) + len(joint))
            for match in expression.finditer(joined):
                first = _index(starts, match.start())
                last = _index(starts, max(match.start(), match.end() - 1))
                if not first <= self._own_index <= last or first == last:
                    continue
                if wide and any(line.raw < FULL for line in self.lines[first:last]):
                    continue
                text = _shown(joint.join(pieces[first : last + 1]), match.start() - starts[first])
                return Match(self._around[2][first], self.lines[first].prefixed, text, _values(match))
        return None

    def has(self, expressions: Sequence[re.Pattern[str]]) -> bool:
        """Return whether one of the expressions matches the position's line or the UNLESS lines after it."""
        if not expressions:
            return False
        texts = [line.text for line in self.lines[self._own_index : self._own_index + UNLESS + 1]]
        return any(expression.search(text) for expression in expressions for text in (*texts, " ".join(texts)))

    @cached_property
    def lines(self) -> list[CleanLine]:
        """The lines around the position, without empty ones and those of other ranks."""
        return self._around[1]

    @property
    def time(self) -> float | None:
        """The time of the position: from its own line, else the nearest line before it with a time."""
        for line in reversed(self.lines[: self._own_index + 1]):
            if line.prefixed.time is not None:
                return line.prefixed.time
        return None

    @property
    def _own_index(self) -> int:
        return self._around[0]

    @cached_property
    def _around(self) -> tuple[int, list[CleanLine], list[int]]:
        """Return (index of the own line, lines, their starts)."""
        rank = self.own.prefixed.rank
        before, after = (
            list(itertools.islice(self._mine(forward=forward, rank=rank), most))
            for forward, most in ((False, BEFORE), (True, AFTER))
        )
        chosen = [*reversed(before), (self.start, self.own), *after]
        return len(before), [line for _, line in chosen], [start for start, _ in chosen]

    def _mine(self, *, forward: bool, rank: int | None) -> Iterator[tuple[int, CleanLine]]:
        """Yield (start, line) of the non-empty lines after or before the own one, of its rank only."""
        for start, end in self._spans(forward=forward):
            line = self._line(start, end)
            if line.text.strip() and (rank is None or line.prefixed.rank == rank):
                yield start, line

    def _spans(self, *, forward: bool) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the lines after or before the own one, the nearest first."""
        text = self._block.text
        at = self.end if forward else self.start
        for _ in range(LINES):
            if forward:
                gap = _ENDS.match(text, at)
                if gap is None or gap.end() == len(text):
                    break
                start = gap.end()
                at = line_end(text, start)
                yield start, at
            else:
                end = len(text[max(0, at - NEAR) : at].rstrip(b"\r\n")) + max(0, at - NEAR)
                if at == 0 or end == at or end == max(0, at - NEAR):
                    break
                at = line_start(text, end - 1)
                yield at, end

    def _line(self, start: int, end: int) -> CleanLine:
        text = clean(self._block.text[start:end]).replace("\0", "")
        return CleanLine(read_prefix(text, self._now, labelled=self._labelled), len(text))


def line_start(text: bytes, position: int) -> int:
    """Return the start of the line of a position, at most NEAR bytes before it."""
    least = max(0, position - NEAR)
    start = text.rfind(b"\n", least, position)
    return max(text.rfind(b"\r", max(least, start), position), start, least - 1) + 1


def line_end(text: bytes, position: int) -> int:
    """Return the end of the line of a position, at most NEAR bytes after it."""
    most = min(len(text), position + NEAR)
    end = text.find(b"\n", position, most)
    if end < 0:
        end = most
    other = text.find(b"\r", position, end)
    return end if other < 0 else other


def _shown(text: str, at: int) -> str:
    """Return at most SHOWN characters of a text, including those at `at`."""
    start = max(0, at - SHOWN // 3) if len(text) > SHOWN else 0
    return text[start : start + SHOWN].strip()


def _index(starts: Sequence[int], offset: int) -> int:
    """Return the index of the piece that contains an offset."""
    return max(index for index, start in enumerate(starts[:-1]) if start <= offset)


def _values(match: re.Match[str]) -> dict[str, str]:
    return {name: value.strip() for name, value in match.groupdict().items() if value is not None}
