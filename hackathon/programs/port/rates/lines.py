"""Printed lines as the log reader sees them: which value is a throughput, whose, and where `(total)` fits."""

import re
from collections.abc import Iterator
from itertools import islice

import libcst as cst

from hackathon.logs.words import ALL, EACH, CustomaryWords
from hackathon.programs.port.edits import Edits
from hackathon.programs.port.rates.templates import OTHER, Piece, Text, Untold, Written, raw

_SHOWN = "4321.5"
"""Replaces the number in question."""
_FACTORS = (1.0, 1e3, 1e6)
_LETTERS, _WORDS = 2000, 8
"""Characters of a line; words next to a value that may be its unit. Longer lines stay unchanged."""
_RATES = ("samples_per_s", "tokens_per_s")


def scope_of(pieces: list[Piece], index: int) -> str | None:
    """Return whose rate the log reader sees in a value: `EACH`, `ALL`, "" (not stated); None: not a rate."""
    return _read(_line(pieces, index, {}))


def _line(pieces: list[Piece], index: int, texts: dict[int, str]) -> str:
    """Return a line with one value in question; `texts`: replacements for some of its parts."""
    parts = []
    for number, piece in enumerate(pieces):
        if isinstance(piece, Text):
            parts.append(texts.get(number, piece.shown))
        elif isinstance(piece, str):
            parts.append(piece)
        else:
            parts.append(_SHOWN if number == index else OTHER)
    return "".join(parts)


def _read(line: str) -> str | None:
    if len(line) > _LETTERS:
        return None
    for name, value in CustomaryWords().read(line):
        for scope in ("", EACH, ALL):
            if name in {f"{rate}{scope}" for rate in _RATES} and value in {float(_SHOWN) * rate for rate in _FACTORS}:
                return scope
    return None


def said_total(pieces: list[Piece], index: int) -> tuple[Text, int, str] | None:
    """Return where and how to mark a rate as the total next to its unit, so that the log reader recognises it."""
    for number, at, more in (*_behind(pieces, index), *_ahead(pieces, index)):
        text = pieces[number]
        assert isinstance(text, Text)
        letters = text.shown
        if _read(_line(pieces, index, {number: letters[:at] + more + letters[at:]})) == ALL:
            return text, at, more
    return None


def _behind(pieces: list[Piece], index: int) -> Iterator[tuple[int, int, str]]:
    """Yield the ends of words after a value, the nearest first."""
    for number in range(index + 1, len(pieces)):
        text = pieces[number]
        if isinstance(text, cst.BaseExpression | Untold):
            return
        if isinstance(text, Text):
            ends = islice(re.finditer(r"\w(?!\w)", text.shown), _WORDS)
            yield from ((number, match.end(), " (total)") for match in ends)


def _ahead(pieces: list[Piece], index: int) -> Iterator[tuple[int, int, str]]:
    """Yield the starts of words before a value, the nearest first."""
    for number in range(index - 1, -1, -1):
        text = pieces[number]
        if isinstance(text, cst.BaseExpression | Untold):
            return
        if isinstance(text, Text):
            starts = [match.start() for match in re.finditer(r"(?<!\w)\w", text.shown)]
            yield from ((number, at, "total ") for at in reversed(starts[-_WORDS:]))


def insert(edits: Edits, node: Written, insertions: list[tuple[int, str]]) -> None:
    """Insert words into a string of the program."""
    letters = raw(node)
    for at, more in sorted(insertions, reverse=True):
        letters = letters[:at] + more + letters[at:]
    if isinstance(node, cst.SimpleString):
        letters = f"{node.prefix}{node.quote}{letters}{node.quote}"
    edits.change(node, lambda updated: updated.with_changes(value=letters))
