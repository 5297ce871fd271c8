"""Regular expressions of others: some never end on a line that nearly fits, and nothing can stop one that has begun."""

from collections.abc import Iterator
from typing import Any

from re import _constants as constants, _parser as parser  # type: ignore[attr-defined]  # isort: skip

_REPEATS = frozenset({constants.MAX_REPEAT, constants.MIN_REPEAT})
_WORDS = frozenset({constants.CATEGORY_DIGIT, constants.CATEGORY_WORD})
_MANY = 30
"""A repeat of more than this counts as one without end."""


def may_never_end(pattern: str) -> bool:
    """Return whether a valid expression repeats what itself is a repeat or a choice, with nothing clear between.

    `(a+)+` and `(a|b)*` do, `(\\\\d+,)*` does not: where a repeat ends is seen. Raises re.error.
    """
    return any(_is_endless(item) and _unclear(item[1][2]) for item in _items(parser.parse(pattern)))


def _is_endless(item: Any) -> bool:
    return item[0] in _REPEATS and item[1][1] > _MANY


def _unclear(body: Any) -> bool:
    inner = [item for item in _items(body) if _is_endless(item) or item[0] is constants.BRANCH]
    if not inner:
        return False
    signs = [item[1] for item in _own(body) if item[0] is constants.LITERAL and not chr(item[1]).isalnum()]
    return not signs or any(not _plain(item, signs) for item in inner)


def _own(body: Any) -> Iterator[Any]:
    """Yield the items that always stand in a body."""
    for item in body:
        if item[0] is constants.SUBPATTERN:
            yield from _own(item[1][-1])
        else:
            yield item


def _plain(item: Any, signs: list[int]) -> bool:
    """Return whether a repeat or a choice takes letters, digits and the like only, never the signs between."""
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
        for each in value:
            yield from _items(each)
