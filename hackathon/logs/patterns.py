"""Check other people's regular expressions: some never end on a line that nearly matches, and cannot be stopped."""

import re
import string
from collections.abc import Iterator
from typing import Any

from re import _constants as constants, _parser as parser  # type: ignore[attr-defined]  # isort: skip

_REPEATS = frozenset({constants.MAX_REPEAT, constants.MIN_REPEAT})
_WORDS = frozenset({constants.CATEGORY_DIGIT, constants.CATEGORY_WORD})
_OTHER = 128
"""Stands for every character beyond ASCII."""
_ALL = frozenset(range(_OTHER + 1))
_DIGIT, _SPACE = frozenset(map(ord, string.digits)), frozenset(map(ord, string.whitespace))
_WORD = _DIGIT | frozenset(map(ord, f"{string.ascii_letters}_")) | {_OTHER}
_CATEGORIES = {
    constants.CATEGORY_DIGIT: _DIGIT,
    constants.CATEGORY_SPACE: _SPACE,
    constants.CATEGORY_WORD: _WORD,
    constants.CATEGORY_NOT_DIGIT: _ALL - _DIGIT,
    constants.CATEGORY_NOT_SPACE: _ALL - _SPACE,
    constants.CATEGORY_NOT_WORD: (_ALL - _WORD) | {_OTHER},
}
_MANY = 30
"""A repeat above this counts as unbounded."""


def may_never_end(pattern: str) -> bool:
    r"""Return whether a valid expression repeats a repeat or a choice, without a clear separator.

    `(a+)+` and `(a|b)*` do; `(\d+,)*` does not, because the end of each repeat is visible. Raises re.error.
    """
    return any(_is_endless(item) and _unclear(item[1][2]) for item in _items(parser.parse(pattern)))


def has_endless_repeat(pattern: str) -> bool:
    """Return whether an expression has an unbounded repeat; also True for an invalid expression."""
    try:
        return any(map(_is_endless, _items(parser.parse(pattern))))
    except (re.error, RecursionError, OverflowError):
        return True


def may_take_long(pattern: str) -> bool:
    r"""Return whether two repeats of an expression can match the same character, without a separator between.

    `a*a*b` and `.* (\d+)` do: the number of restarts of such a search grows with a power of the line's length.
    `(\d+)\.(\d+)` does not. Also True for an invalid expression: compiling it reports that.
    """
    try:
        return _open_after(parser.parse(pattern), frozenset()) is None
    except (re.error, RecursionError, OverflowError):
        return True


def _open_after(body: Any, before: frozenset[frozenset[int]]) -> frozenset[frozenset[int]] | None:
    """Return the characters of unbounded repeats that can continue after a body; None: two share one.

    `before`: those of repeats that can continue at its start.
    """
    going = before
    for item in _own(body):
        operation, argument = item
        if operation in (constants.LITERAL, constants.NOT_LITERAL, constants.IN, constants.ANY):
            signs = _signs(item)
            going = frozenset(other for other in going if signs & other)
        elif operation in _REPEATS and _is_endless(item):
            signs = _signs(item)
            if any(signs & other for other in going) or any(_is_endless(part) for part in _items(argument[2])):
                return None
            going |= {signs}
        elif operation in _REPEATS and argument[1] == 1:
            inside = _open_after(argument[2], going)
            if inside is None:
                return None
            going = going | inside if argument[0] == 0 else inside
        elif any(_is_endless(part) for part in _items([item])):
            return None  # a choice or another construct that is not analysed
    return going


def _signs(item: Any) -> frozenset[int]:
    """Return the characters that an item can match, as far as they are ASCII; all others count as _OTHER."""
    operation, argument = item
    if operation is constants.LITERAL:
        return frozenset({min(argument, _OTHER)})
    if operation is constants.NOT_LITERAL:
        return _ALL - ({argument} - {_OTHER})
    if operation is constants.RANGE:
        return frozenset(range(min(argument[0], _OTHER), min(argument[1], _OTHER) + 1))
    if operation is constants.CATEGORY:
        return _CATEGORIES.get(argument, _ALL)
    if operation is constants.IN:
        negated = argument[0][0] is constants.NEGATE
        signs = frozenset[int]().union(*map(_signs, argument[negated:]))
        return _ALL - (signs - {_OTHER}) if negated else signs
    inner = argument[2] if operation in _REPEATS else argument[-1] if operation is constants.SUBPATTERN else None
    return _ALL if inner is None else frozenset[int]().union(*map(_signs, inner))


def _is_endless(item: Any) -> bool:
    return item[0] in _REPEATS and item[1][1] > _MANY


def _unclear(body: Any) -> bool:
    inner = [item for item in _items(body) if _is_endless(item) or item[0] is constants.BRANCH]
    if not inner:
        return False
    signs = [item[1] for item in _own(body) if item[0] is constants.LITERAL and not chr(item[1]).isalnum()]
    return not signs or any(not _plain(item, signs) for item in inner)


def _own(body: Any) -> Iterator[Any]:
    """Yield the items that are always part of a body."""
    for item in body:
        if item[0] is constants.SUBPATTERN:
            yield from _own(item[1][-1])
        else:
            yield item


def _plain(item: Any, signs: list[int]) -> bool:
    """Return whether a repeat or a choice matches only word characters, never separators."""
    for operation, argument in _items([item]):
        if operation in (constants.ANY, constants.NOT_LITERAL, constants.NEGATE, constants.RANGE):
            low, high = argument if operation is constants.RANGE else (0, 0x10FFFF)
            if any(low <= sign <= high for sign in signs):
                return False
        literal = operation is constants.LITERAL and argument in signs
        other = operation is constants.CATEGORY and argument not in _WORDS
        if literal or other:
            return False
    return True


def _items(value: Any) -> Iterator[Any]:
    """Yield every (operation, argument) of a parsed expression."""
    if isinstance(value, parser.SubPattern):
        value = value.data
    if isinstance(value, tuple) and value and isinstance(value[0], constants._NamedIntConstant):
        yield value
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _items(part)
