"""Print one line for many ranks with the same text: `[ranks 0-7] text`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from hackathon.logs.merge import Line

WINDOW = 300
"""Different lines among which another rank's equal text is searched."""
NEAR = 60.0
"""Seconds between lines that may belong to the same moment: clocks differ, ranks wait for each other."""


class CollapsedLines:
    """The same text of one or more ranks."""

    __slots__ = ("line", "ranks")

    def __init__(self, line: Line) -> None:
        self.line = line
        self.ranks = [line.rank] if line.rank is not None else []


def fold(lines: Iterable[Line], window: int = WINDOW) -> Iterator[CollapsedLines]:
    """Yield the lines, with equal texts of several ranks merged at the first one's position.

    Each rank's lines keep their order. A line without a time may move behind its rank's previous line, so that ranks
    with nearly the same output are displayed next to each other.
    """
    pending: list[CollapsedLines] = []
    words: Counter[str] = Counter()
    last: dict[int | None, CollapsedLines] = {}
    for line in lines:
        before = last.get(line.rank)
        # It comes after its rank's previous line; a line that was yielded already precedes all pending ones.
        least = next((at for at, group in enumerate(pending, 1) if group is before), 0) if before else 0
        group = None
        if words[line.text] and line.rank is not None:
            group = next((candidate for candidate in islice(pending, least, None) if _may_join(candidate, line)), None)
        if group is None:
            group = CollapsedLines(line)
            pending.insert(least if line.time is None and before is not None else len(pending), group)
            words[line.text] += 1
        elif line.rank is not None:
            group.ranks.append(line.rank)
        last[line.rank] = group
        if len(pending) > window:
            done = pending.pop(0)
            words[done.line.text] -= 1
            if not words[done.line.text]:
                del words[done.line.text]
            yield done
    yield from pending


def _may_join(group: CollapsedLines, line: Line) -> bool:
    if group.line.text != line.text or group.line.level != line.level or not group.ranks or line.rank in group.ranks:
        return False
    return group.line.time is None or line.time is None or abs(group.line.time - line.time) <= NEAR


def ranks_text(ranks: Collection[int]) -> str:
    """Return ranks as `0-3,7`."""
    parts: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def parse_ranks(text: str) -> set[int]:
    """Return the ranks in `0-3,7`. Raises ValueError for other text, and for more than 100 000."""
    ranks: set[int] = set()
    for part in text.split(","):
        first, sign, last = part.strip().partition("-")
        low, high = int(first), int(last if sign else first)
        if not 0 <= low <= high or high - low >= 100_000:
            raise ValueError(f"{part!r} is not a rank or a range of ranks")
        ranks.update(range(low, high + 1))
    return ranks
