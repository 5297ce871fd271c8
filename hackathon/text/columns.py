"""Text in the columns of a terminal: wide characters take two, combining ones none."""

import unicodedata
from collections.abc import Sequence

from hackathon.text.printable import printable

GAP, NARROWEST = 2, 12
"""Columns between two cells of a table, and of its first column at least."""
# What must not begin a line (JIS X 4051, the common part), and does not need to for a table to be read.
_NOT_FIRST = frozenset("、。，．・：；？！）」』】〕〉》ーゃゅょっャュョッ々…,.:;?!)]}")


def width(text: str) -> int:
    """Return the number of columns of a text."""
    return len(text) if text.isascii() else sum(_width(letter) for letter in text)


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Return a text that takes at most `columns`; one that is longer ends with …"""
    if width(text) <= columns:
        return text
    return _cut(text, columns - 1)[0] + "…" if columns > 1 else "…"[:columns]


def wrapped(text: str, columns: int) -> list[str]:
    """Return a text in lines of at most `columns`: broken at spaces and between wide characters, else anywhere.

    Existing line ends stay.
    """
    return [line for part in text.split("\n") for line in _wrapped(part, columns)]


def _wrapped(text: str, columns: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for piece in _pieces(printable(text)):
        if width(line) + width(piece.rstrip()) <= columns:
            line += piece
            continue
        if line.strip():
            lines.append(line.rstrip())
            line = ""
        *full, line = _cut(piece.lstrip(), columns)
        lines += full
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _cut(word: str, columns: int) -> list[str]:
    """Return a word in parts of at most `columns`, or of one character; the last part may be empty."""
    parts: list[str] = []
    start = taken = 0
    for at, letter in enumerate(word):
        if at > start and taken + _width(letter) > columns:
            parts.append(word[start:at])
            start, taken = at, 0
        taken += _width(letter)
    return [*parts, word[start:]]


def _pieces(text: str) -> list[str]:
    """Return a text in pieces between which a line may be broken."""
    pieces: list[str] = []
    start = 0
    for at in range(1, len(text)):
        letter, before = text[at], text[at - 1]
        wide = _width(letter) == 2 or _width(before) == 2
        if before == " " or (wide and letter not in _NOT_FIRST and letter != " "):
            pieces.append(text[start:at])
            start = at
    return [*pieces, text[start:]] if text else pieces


def aligned(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Return rows as lines, the first cell to the left and wrapped as needed, numbers to the right.

    The first column is at least NARROWEST wide; where the others leave less, lines are longer than `columns`.
    """
    cells = [[printable(cell, kept="\n") for cell in row] for row in rows]
    widths = [max(width(line) for row in cells for line in row[at].split("\n")) for at in range(len(cells[0]))]
    room = columns - sum(GAP + column_width for column_width in widths[1:])
    widths[0] = min(widths[0], max(room, NARROWEST))
    lines = []
    for row in cells:
        names = wrapped(row[0], widths[0])
        numbers = "".join(
            " " * (GAP + column_width - width(cell)) + cell
            for cell, column_width in zip(row[1:], widths[1:], strict=True)
        )
        lines.append(names[0] + " " * (widths[0] - width(names[0])) + numbers)
        lines += names[1:]
    return [line.rstrip() for line in lines]
