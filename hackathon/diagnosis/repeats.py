"""Leave out lines of a log that repeat lines which a search has read: equal except for numbers that vary.

A log of millions of retries has a few dozen kinds of lines. A kind is a line with zeros for all digits. Numbers that
have few values in a kind (an error's number, a rank, an exit code) tell lines apart; time stamps and counters do not.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hackathon.diagnosis.blocks import Block

LEAST = 32
"""Equal lines of one block that make a kind."""
LONGEST = 2048
"""Bytes of a line that can be of a kind."""
KINDS = 400
"""Kinds of one log, at most."""
MOST = 512
"""Different lines of one kind that are read, apart from numbers that vary."""
WORTH = 4
"""A block in which less than one part in so many is repeated is not worth the effort."""
PAUSE = 16
"""Blocks after such a block that are not examined."""
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


class Repeats:
    """The kinds of lines of one log."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, _Kind] = {}
        self._pause = 0

    def blanked(self, block: Block) -> Block:
        """Return the block with spaces for repeated lines among those that it searches; itself when they are few."""
        if self._pause:
            self._pause -= 1
            return block
        middle = block.text[block.done : block.end]
        lines = middle.split(b"\n")
        groups: defaultdict[bytes, list[int]] = defaultdict(list)
        for number, shape in enumerate(middle.translate(_ZEROS).split(b"\n")):
            groups[shape].append(number)
        bytes_left_out = 0
        for shape, numbers in groups.items():
            kind = self._kind(shape, len(numbers))
            if kind is None:
                continue
            fresh = kind.fresh([lines[number] for number in numbers])
            blank = b" " * len(shape)
            for index, number in enumerate(numbers):
                if index not in fresh:
                    lines[number] = blank
            bytes_left_out += (len(numbers) - len(fresh)) * len(shape)
        if bytes_left_out * WORTH < len(middle):
            self._pause = PAUSE
        if not bytes_left_out:
            return block
        return replace(block, text=block.text[: block.done] + b"\n".join(lines) + block.text[block.end :])

    def _kind(self, shape: bytes, lines: int) -> "_Kind | None":
        kind = self._kinds.get(shape)
        if kind is None and lines >= LEAST and 0 < len(shape) <= LONGEST and len(self._kinds) < KINDS:
            kind = self._kinds[shape] = _Kind(shape)
        return kind


class _Kind:
    """Lines that are equal except for their digits."""

    def __init__(self, shape: bytes) -> None:
        self._length = len(shape)
        self._number: dict[int, int] = {}
        """Position of a digit → start of its number."""
        start = 0
        for position, code in enumerate(shape):
            if code == 48:
                start = start if position and shape[position - 1] == 48 else position
                self._number[position] = start
        self._constant: dict[int, int] = {}
        """Position of a digit that is the same in all lines so far → that digit."""
        self._mixed: list[int] = []
        """Positions of digits that tell the lines apart."""
        self._read: set[tuple[int, ...]] = set()
        """Their values in the lines that were read."""

    def fresh(self, lines: Sequence[bytes]) -> set[int]:
        """Return the indices of the lines that repeat none before."""
        joined = b"".join(lines)
        if not self._read:
            self._constant = {position: lines[0][position] for position in self._number}
        for position, digit in list(self._constant.items()):
            if joined[position :: self._length].count(digit) != len(lines):
                del self._constant[position]
                self._mixed.append(position)
                self._read = {(*values, digit) for values in self._read}
        while True:
            columns = [joined[position :: self._length] for position in self._mixed]
            new = (set(zip(*columns, strict=True)) if columns else {()}) - self._read
            many = len(new) * 2 > len(lines) >= LEAST or len(new) + len(self._read) > MOST
            if not many or not self._mixed:
                break
            self._forget_most_varied(self._read | new)
        fresh: dict[tuple[int, ...], int] = {}
        if new:
            for index, values in enumerate(zip(*columns, strict=True) if columns else [()]):
                if values in new:
                    fresh.setdefault(values, index)
        self._read |= new
        return set(fresh.values())

    def _forget_most_varied(self, combinations: Iterable[tuple[int, ...]]) -> None:
        """Regard the number with the most values as one that varies."""
        values: defaultdict[int, set[tuple[int, ...]]] = defaultdict(set)
        indices: defaultdict[int, list[int]] = defaultdict(list)
        for index, position in enumerate(self._mixed):
            indices[self._number[position]].append(index)
        for combination in combinations:
            for number, of_it in indices.items():
                values[number].add(tuple(combination[index] for index in of_it))
        varied = max(values, key=lambda number: len(values[number]))
        rest = [index for index, position in enumerate(self._mixed) if self._number[position] != varied]
        self._mixed = [self._mixed[index] for index in rest]
        self._constant = {
            position: digit for position, digit in self._constant.items() if self._number[position] != varied
        }
        self._read = {tuple(values[index] for index in rest) for values in self._read}
