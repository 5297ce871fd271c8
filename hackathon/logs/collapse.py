"""One line for many ranks that print the same: `[ranks 0-7] text`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from hackathon.logs.merge import Line

WINDOW = 300
"""Different lines among which the same words of another rank are looked for."""
NEAR = 60.0
"""Seconds between times of lines that may still be the same moment: clocks differ, ranks wait for each other."""


class CollapsedLines:
    """The same words of one or more ranks."""

    __slots__ = ("line", "ranks")

    def __init__(self, line: Line) -> None:
        self.line = line
        self.ranks = [line.rank] if line.rank is not None else []


def fold(lines: Iterable[Line], window: int = WINDOW) -> Iterator[CollapsedLines]:
    """Yield the lines, the same words of several ranks once, where the first of them stood.

    Each rank's lines stay in their order. A line without a time may move behind the line before it of its rank, so
    that ranks that tell the same story with small differences are shown beside each other.
    """
    pending: list[CollapsedLines] = []
    words: Counter[str] = Counter()
    last: dict[int | None, CollapsedLines] = {}
    for line in lines:
        before = last.get(line.rank)
        # Behind the line before of its rank; one that was shown already is before all that wait.
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
    """Return the ranks in `0-3,7`. Raises ValueError for anything else, and for more than 100 000."""
    ranks: set[int] = set()
    for part in text.split(","):
        first, sign, last = part.strip().partition("-")
        low, high = int(first), int(last if sign else first)
        if not 0 <= low <= high or high - low >= 100_000:
            raise ValueError(f"{part!r} is not a rank or a range of ranks")
        ranks.update(range(low, high + 1))
    return ranks
