"""The parts of a printed line: its texts, its values, and their positions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from hackathon.programs.port.names import dotted

OTHER = "7"
"""Replaces a value of a line that is not in question."""
Written = cst.SimpleString | cst.FormattedStringText
_PERCENT = re.compile(
    r"%(?:%|(?:\((?P<field>[^()]*)\))?[-+ #0]*(?P<width>\*|[0-9]*)(?:\.(?P<precision>\*|[0-9]*))?[hlL]?[a-zA-Z])"
)
_BRACES = re.compile(
    r"\{\{|\}\}|\{(?P<field>[^{}!:]*)(?:![a-z])?(?::(?P<spec>[^{}]*(?:\{[^{}]*\}[^{}]*)*))?\}"
)  # fmt: skip
_FIELD = re.compile(r"(?P<name>[A-Za-z_]\w*|[0-9]*)(?P<part>[.\[].*)?", re.DOTALL)
_HIDDEN = re.compile(r"\\N\{[^}]*\}|\\.", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """A part of a string of the program, as written there."""

    node: Written
    start: int
    end: int

    @property
    def shown(self) -> str:
        """Its characters; escaped ones become spaces, which keeps the positions."""
        return _shown(self.node)[self.start : self.end]


@dataclass(frozen=True)
class Untold:
    """A position whose value is not written in the line: of `*values`, of an attribute, of a width and a number."""


Piece = Text | cst.BaseExpression | Untold | str
"""A printed line consists of texts, of values, and of spaces between them."""


def printed(call: cst.Call) -> Iterator[Piece]:
    """Yield the parts of the line that a print writes."""
    for number, argument in enumerate(call.args):
        if argument.keyword is None and not argument.star:
            yield from [" "] if number else []
            yield from _pieces(argument.value)


def raw(node: Written) -> str:
    """Return the characters of a string between its quotes, as written."""
    return node.raw_value if isinstance(node, cst.SimpleString) else node.value


def _shown(node: Written) -> str:
    return _HIDDEN.sub(lambda match: " " * len(match[0]), raw(node))


def _pieces(value: cst.BaseExpression) -> Iterator[Piece]:
    if isinstance(value, cst.ConcatenatedString):
        yield from _pieces(value.left)
        yield from _pieces(value.right)
    elif isinstance(value, cst.FormattedString):
        for part in value.parts:
            if isinstance(part, cst.FormattedStringText):
                yield Text(part, 0, len(part.value))
            elif isinstance(part, cst.FormattedStringExpression) and part.equal is None:
                yield part.expression
            elif isinstance(part, cst.FormattedStringExpression):  # `{speed=}` also prints its own text
                yield f"{dotted(part.expression) or ''}="
                yield Untold()
    elif isinstance(value, cst.SimpleString):
        yield Text(value, 0, len(value.raw_value))
    elif isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo):
        yield from _filled(value.left, _PERCENT, *_of_percent(value.right)) or [value]
    elif isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value == "format":
        plain = [
            None if argument.star else argument.value
            for argument in value.args
            if argument.keyword is None and argument.star != "**"
        ]
        named = {argument.keyword.value: argument.value for argument in value.args if argument.keyword is not None}
        complete = not any(argument.star for argument in value.args)
        yield from _filled(value.func.value, _BRACES, plain, named, complete) or [value]
    else:
        yield value


def _of_percent(
    right: cst.BaseExpression,
) -> tuple[list[cst.BaseExpression | None], dict[str, cst.BaseExpression], bool]:
    """Return the values of `"…" % right`: positional ones, named ones, and whether these are all."""
    if isinstance(right, cst.Tuple):
        stars = any(isinstance(element, cst.StarredElement) for element in right.elements)
        return (
            [None if isinstance(element, cst.StarredElement) else element.value for element in right.elements],
            {},
            not stars,
        )
    if isinstance(right, cst.Dict):
        named = {
            element.key.raw_value: element.value
            for element in right.elements
            if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)
        }
        return [], named, len(named) == len(right.elements)
    # a name may be one value, or a tuple or dictionary of several
    return [right], {}, not isinstance(right, cst.Name | cst.Attribute | cst.Call | cst.Subscript)


class _Values:
    """The values of a template, which its fields select by order, number or name."""

    def __init__(
        self, plain: list[cst.BaseExpression | None], named: dict[str, cst.BaseExpression], complete: bool
    ) -> None:
        stars = plain.index(None) if None in plain else len(plain)
        self._plain = [value for value in plain[:stars] if value is not None]  # after `*values` positions are unknown
        self._named = named
        self._complete = complete
        self._next = 0

    def take(self, field: str) -> Piece | None:
        """Return the value of a field, `Untold` when it is not written in the line; None without one."""
        match = _FIELD.fullmatch(field)
        if match is None:
            return None
        name = match["name"]
        if not name:
            name, self._next = str(self._next), self._next + 1
        if name.isdigit():
            value = self._plain[int(name)] if int(name) < len(self._plain) else None
        else:
            value = self._named.get(name)
        if value is None:
            return None if self._complete else Untold()
        return Untold() if match["part"] else value

    def named(self, name: str) -> Piece | None:
        """Return the value of a name, `Untold` when it is not written in the line; None without one."""
        return self._named.get(name) or (None if self._complete else Untold())


def _filled(
    template: cst.BaseExpression,
    pattern: re.Pattern[str],
    plain: list[cst.BaseExpression | None],
    named: dict[str, cst.BaseExpression],
    complete: bool,
) -> list[Piece]:
    """Return the parts of a template with its values inserted; [] when they do not match.

    `complete`: whether all its values are known.
    """
    texts = list(_pieces(template))
    if not all(isinstance(text, Text) for text in texts):
        return []
    matches = [
        (text, match)
        for text in texts
        if isinstance(text, Text)
        for match in pattern.finditer(text.shown)
        if match[0] not in ("%%", "{{", "}}")
    ]
    if pattern is _PERCENT and not complete and len(matches) == 1 and len(plain) == 1:
        complete = not matches[0][1]["field"]  # `"%.1f" % speed`
    values = _Values(plain if complete or pattern is _BRACES else [], named, complete)
    pieces: list[Piece] = []
    for text in texts:
        assert isinstance(text, Text)
        start = 0
        for match in pattern.finditer(text.shown):
            if match[0] in ("%%", "{{", "}}"):  # one character, written twice
                pieces.append(Text(text.node, start, match.end() - 1))
                start = match.end()
                continue
            value = _taken(values, match, pattern)
            if value is None:
                return []
            pieces += [Text(text.node, start, match.start()), value]
            start = match.end()
        pieces.append(Text(text.node, start, text.end))
    return pieces


def _taken(values: _Values, match: re.Match[str], pattern: re.Pattern[str]) -> Piece | None:
    field = match["field"]
    if pattern is _PERCENT:
        if field is not None:
            return values.named(field)
        for size in (match["width"], match["precision"]):
            if size == "*":
                values.take("")
        return values.take("")
    value = values.take(field.strip())
    for inner in re.findall(r"\{([^{}]*)\}", match["spec"] or ""):
        values.take(inner)
    return value
