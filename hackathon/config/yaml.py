"""Read YAML safely, with the scalars of YAML 1.2's core schema and a line for every value.

PyYAML parses (with libyaml if available), but none of its constructors is used: values are built here from the event
stream, so that depth, size, tags and aliases are checked first. Deliberate differences to YAML 1.1: no yes/no/on/off,
no sexagesimal numbers (`48:00:00` stays text), no dates, no `1_000`. Unlike in 1.2, whole numbers with leading zeros
stay text too (a group `007`). Source: YAML 1.2.2, section 10.3.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml as pyyaml

from hackathon.config.problems import ConfigError, Problem, read_bounded, shown
from hackathon.config.records import KeyPath
from hackathon.text.messages import Message

MAXIMUM_DEPTH = 30
MAXIMUM_VALUES = 50_000
"""Values of a file after aliases are expanded."""

_FAST: Any = getattr(pyyaml, "CSafeLoader", None)
"""libyaml's parser, if PyYAML was built with it."""
_UNLIKE = re.compile("[\t\ufeff]|[|>][-+0-9]*#")
"""Syntax that libyaml accepts in places where PyYAML's own parser does not."""
_CORE = "tag:yaml.org,2002:"
_TAGS = {_CORE + name: name for name in ("null", "bool", "int", "float", "str", "seq", "map")}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# 40 digits are more than any number of nodes or bytes needs, and far below Python's limit for conversions.
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,39})\Z|0o[0-7]{1,40}\Z|0x[0-9a-fA-F]{1,40}\Z")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)\.[0-9]*)(?:[eE][-+]?[0-9]+)?\Z|[-+]?(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+\Z"
)
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)\Z")
_NAN = frozenset({".nan", ".NaN", ".NAN"})
_SURROGATE = re.compile("[\ud800-\udfff]")
WIDE_KEY = re.compile(r"\s*(?:- )?(\w[\w .-]{0,60})(?:：\s?|:[\u3000\u00a0])")
"""A key with a colon, or a space after it, from a Japanese keyboard."""


@dataclass
class Document:
    """A YAML file: plain values, and their lines."""

    path: Path
    value: Any = None
    """dict with text keys, list, str, int, float, bool or None; None for an empty file."""
    places: dict[KeyPath, int] = field(default_factory=dict)
    """Key path → line of the key (of the item in lists), from 1."""
    words: dict[KeyPath, str] = field(default_factory=dict)
    """Key path → the text of a number or truth value as written."""

    def line(self, path: KeyPath) -> int:
        """Return the line of a key path, or of its nearest ancestor in the file."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, 1)

    def below(self, key: str) -> "Document":
        """Return the value under a top-level key as a separate document."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        lines = {path[1:]: line for path, line in self.places.items() if path[:1] == (key,)}
        words = {path[1:]: word for path, word in self.words.items() if path[:1] == (key,)}
        return Document(self.path, value, lines, words)


@dataclass
class _Node:
    """A value with its size and position."""

    value: Any
    line: int
    size: int = 1
    """Values in it, itself and expanded aliases included."""
    depth: int = 0
    """Depth of nested containers below it."""
    word: str | None = None
    children: dict[str | int, tuple[int, "_Node"]] = field(default_factory=dict)
    """Key or index → line of the key, child."""


def read_yaml(path: Path) -> Document:
    """Return the document in a file. Raises ConfigError: missing, unreadable, too large, or invalid YAML."""
    return parse_yaml(read_bounded(path), path)


def parse_yaml(raw: bytes, path: Path) -> Document:
    """Return the document in some bytes; `path` is used in messages. Raises only ConfigError."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            [
                Problem(
                    Message("config.not_utf8", "the file is not UTF-8 text (byte {byte}); save it as UTF-8"),
                    path,
                    line,
                    values={"byte": f"0x{raw[error.start]:02x}"},
                )
            ]
        ) from None
    try:
        root, builder = _built(text, path)
    except pyyaml.YAMLError as error:
        raise ConfigError([_syntax_problem(error, text, path)]) from None
    document = Document(path)
    if root is not None:
        document.value = root.value
        _place(document, root, ())
    if builder.problems:
        raise ConfigError(builder.problems)
    return document


def scalar(text: str) -> Any:
    """Return the value of an unquoted scalar by the core schema: None, bool, int, float, or the text itself."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.match(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.match(text):
        return float(text)
    if match := _INFINITE.match(text):
        return float(f"{match[1]}inf")
    return float("nan") if text in _NAN else text


def _built(text: str, path: Path) -> tuple["_Node | None", "_Builder"]:
    """Return the root of a text, and its builder. Raises YAMLError and ConfigError."""
    if _FAST is not None and not _UNLIKE.search(text):
        builder = _Builder(path, fast=True)
        try:
            return builder.build(_FAST(text)), builder
        except (pyyaml.YAMLError, ConfigError):
            pass  # PyYAML's own parser reports errors and positions more precisely
    builder = _Builder(path)
    return builder.build(pyyaml.SafeLoader(text)), builder


class _Builder:
    """Builds the value from parser events with a stack of open containers, never by recursion."""

    def __init__(self, path: Path, *, fast: bool = False) -> None:
        self.path = path
        self.fast = fast
        self.problems: list[Problem] = []
        self.anchors: dict[str, _Node | None] = {}
        self.values = 0

    def build(self, parser: Any) -> _Node | None:
        """Return the root of a parser's only document, or None for an empty stream."""
        try:
            return self._documents(parser)
        finally:
            if hasattr(parser, "dispose"):
                parser.dispose()

    def _documents(self, parser: Any) -> _Node | None:
        root: _Node | None = None
        count = 0
        while (event := parser.get_event()) is not None:
            if isinstance(event, pyyaml.DocumentStartEvent):
                count += 1
                if count > 1:
                    raise self._stop(
                        Message(
                            "config.yaml_documents", "a file may contain only one document; delete the second `---`"
                        ),
                        event,
                    )
                root = self._tree(parser)
        return root

    def _tree(self, parser: Any) -> _Node | None:
        """Return one document, consuming its events."""
        stack: list[tuple[_Node, str | None]] = []
        keys: list[tuple[str, int] | None] = []
        while True:
            event = parser.get_event()
            if isinstance(event, pyyaml.DocumentEndEvent):
                return None
            anchor: str | None = None
            if isinstance(event, pyyaml.AliasEvent):
                node = self._alias(event, len(stack))
            elif isinstance(event, pyyaml.ScalarEvent):
                node = self._scalar(event)
                anchor = event.anchor
            elif isinstance(event, pyyaml.CollectionStartEvent):
                self._refuse_tag(event, "seq" if isinstance(event, pyyaml.SequenceStartEvent) else "map")
                if stack and isinstance(stack[-1][0].value, dict) and keys[-1] is None:
                    raise self._stop(Message("config.yaml_key", "a key must be a plain word"), event)
                if len(stack) >= MAXIMUM_DEPTH:
                    raise self._stop(
                        Message("config.yaml_depth", "nested deeper than {limit} levels"), event, limit=MAXIMUM_DEPTH
                    )
                if event.anchor:
                    self.anchors[event.anchor] = None
                node = _Node([] if isinstance(event, pyyaml.SequenceStartEvent) else {}, _line(event))
                stack.append((node, event.anchor))
                keys.append(None)
                self._count(1, event)
                continue
            else:
                node, anchor = stack.pop()
                keys.pop()
            if anchor:
                self.anchors[anchor] = node
            if not stack:
                self._expect_end(parser)
                return node
            self._attach(stack[-1][0], keys, node, event)

    def _expect_end(self, parser: Any) -> None:
        event = parser.get_event()
        if not isinstance(event, pyyaml.DocumentEndEvent):
            raise self._stop(
                Message("config.yaml_documents", "a file may contain only one document; delete the second `---`"), event
            )

    def _attach(self, parent: _Node, keys: list[tuple[str, int] | None], node: _Node, event: Any) -> None:
        """Put a finished node into the innermost open container: as an item, a key or a value."""
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        if isinstance(parent.value, list):
            parent.children[len(parent.value)] = (node.line, node)
            parent.value.append(node.value)
            return
        key = keys[-1]
        if key is None:
            if isinstance(event, pyyaml.AliasEvent):
                raise self._stop(Message("config.yaml_key", "a key must be a plain word"), event)
            word = node.word if node.word is not None else str(node.value if node.value is not None else "")
            if word == "<<" and not event.style:
                raise self._stop(
                    Message("config.yaml_merge", "merge keys (`<<`) are not supported; write out the keys"), event
                )
            if word in parent.value:
                self._note(
                    Message("config.yaml_duplicate", "this key is already in line {first}"),
                    event,
                    word,
                    first=parent.children[word][0],
                )
            keys[-1] = (word, _line(event))
            return
        name, line = key
        if name not in parent.value:
            parent.value[name] = node.value
            parent.children[name] = (line, node)
        keys[-1] = None

    def _scalar(self, event: Any) -> _Node:
        if self.fast and not event.style and "?" in event.value:
            raise pyyaml.YAMLError("libyaml takes this in flow collections, too, where PyYAML's own parser does not")
        self._count(1, event)
        kind = self._refuse_tag(event, "str")
        value: Any = event.value
        word: str | None = None
        if event.style == '"' and _SURROGATE.search(value):
            try:
                # two escapes, as JSON writes a character beyond U+FFFF
                value = value.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                raise self._stop(
                    Message(
                        "config.yaml_surrogate",
                        "a \\ud800 to \\udfff escape is only half of a character; write the character itself",
                    ),
                    event,
                ) from None
        # the tag `!` makes text of everything
        if (event.implicit[0] and event.tag != "!") or (kind and kind != "str"):
            value = scalar(event.value)
            word = event.value
            if kind == "float" and type(value) is int:
                value = float(value)
            if kind and kind != "str" and _kind(value) != kind:
                raise self._stop(
                    Message("config.yaml_tag_value", "{value} is not a {tag}"),
                    event,
                    tag=f"!!{kind}",
                    value=shown(event.value),
                )
        return _Node(value, _line(event), word=word)

    def _alias(self, event: Any, depth: int) -> _Node:
        if event.anchor not in self.anchors:
            raise self._stop(
                Message(
                    "config.yaml_alias_unknown",
                    "*{name} has no anchor &{name} before it; if it is text, put it in quotes",
                ),
                event,
                name=event.anchor,
            )
        node = self.anchors[event.anchor]
        if node is None:
            raise self._stop(Message("config.yaml_alias_loop", "*{name} contains itself"), event, name=event.anchor)
        if depth + node.depth >= MAXIMUM_DEPTH:
            raise self._stop(
                Message("config.yaml_depth", "nested deeper than {limit} levels"), event, limit=MAXIMUM_DEPTH
            )
        self._count(node.size, event)
        return _Node(node.value, _line(event), node.size, node.depth, node.word, node.children)

    def _refuse_tag(self, event: Any, default: str) -> str | None:
        """Return the core name of an explicit tag, or None without one; raise for every other tag."""
        if event.tag is None or event.tag == "!":
            return None
        kind = _TAGS.get(event.tag)
        containers = {"seq", "map"}
        if kind is None or (kind != default and (kind in containers or default in containers)):
            raise self._stop(
                Message("config.yaml_tag", "the tag {tag} is not allowed; write plain values"),
                event,
                tag=shown(event.tag.replace(_CORE, "!!")),
            )
        return kind

    def _count(self, size: int, event: Any) -> None:
        self.values += size
        if self.values > MAXIMUM_VALUES:
            raise self._stop(
                Message("config.yaml_values", "more than {limit} values (aliases count each time they are used)"),
                event,
                limit=MAXIMUM_VALUES,
            )

    def _note(self, identifier: str, event: Any, key: str, **values: Any) -> None:
        self.problems.append(Problem(identifier, self.path, _line(event), (key,), values))

    def _stop(self, identifier: str, event: Any, **values: Any) -> ConfigError:
        return ConfigError([*self.problems, Problem(identifier, self.path, _line(event), (), values)])


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _kind(value: Any) -> str:
    return {type(None): "null", bool: "bool", int: "int", float: "float"}.get(type(value), "str")


def _place(document: Document, node: _Node, path: KeyPath) -> None:
    """Record the lines of everything below a node; depth is bounded by MAXIMUM_DEPTH for each expanded alias."""
    if node.word is not None and node.value is not None and not isinstance(node.value, str):
        document.words[path] = node.word
    for key, (line, child) in node.children.items():
        below = (*path, key)
        document.places[below] = line
        _place(document, child, below)


def _syntax_problem(error: pyyaml.YAMLError, text: str, path: Path) -> Problem:
    """Return PyYAML's error as our message if it is a common one, else with PyYAML's own text."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    detail = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "").strip()
    if mark is None:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) and position >= 0 else None
        return Problem(
            Message("config.yaml_character", "the file contains a control character that YAML does not allow"),
            path,
            line,
        )
    line = mark.line + 1
    lines = text.splitlines()
    text_of_line = lines[mark.line] if mark.line < len(lines) else ""
    indent = text_of_line[: len(text_of_line) - len(text_of_line.lstrip())]
    if "\t" in indent or text_of_line[mark.column : mark.column + 1] == "\t":
        return Problem(Message("config.yaml_tab", "use spaces instead of tabs for indentation"), path, line)
    if (wide := _wide_colon(error, lines)) is not None:
        number, key = wide
        return Problem(
            Message(
                "config.yaml_wide_colon", "the colon and the space after a key must be half-width: write `{key}: `"
            ),
            path,
            number + 1,
            values={"key": key},
        )
    if "mapping values are not allowed" in detail:
        return Problem(Message("config.yaml_colon", "a second `: ` in one line; put the text in quotes"), path, line)
    if "cannot start any token" in detail:
        return Problem(
            Message("config.yaml_start", "text cannot begin with {character}; put it in quotes"),
            path,
            line,
            values={"character": shown(text_of_line[mark.column : mark.column + 1])},
        )
    return Problem(
        Message("config.yaml_syntax", "not valid YAML (column {column}): {detail}"),
        path,
        line,
        values={"detail": detail, "column": mark.column + 1},
    )


def _wide_colon(error: pyyaml.YAMLError, lines: list[str]) -> tuple[int, str] | None:
    """Return the index and the key of a line whose full-width colon or space is the error, else None.

    Texts may contain such colons, so the corrected lines must have no error, or a later one.
    """
    marks = [mark for name in ("context_mark", "problem_mark") if (mark := getattr(error, name, None)) is not None]
    for number in dict.fromkeys(number for mark in marks for number in (mark.line, mark.line - 1)):
        mended, first, key = list(lines), number + 1, ""
        while 0 < first <= len(lines) and (match := WIDE_KEY.match(lines[first - 1])):
            first, key = first - 1, match[1].strip()
            mended[first] = f"{match.string[: match.end(1)]}: {match.string[match.end() :]}"
        if key and _error_line(lines) < _error_line(mended):
            return first, key
    return None


def _error_line(lines: list[str]) -> int:
    """Return the index of the first line that the faster parser rejects; one past the end when it rejects none."""
    try:
        for _ in pyyaml.parse("\n".join(lines), Loader=_FAST or pyyaml.SafeLoader):
            pass
    except pyyaml.MarkedYAMLError as error:
        return error.problem_mark.line if error.problem_mark else 0
    except pyyaml.YAMLError:
        return 0
    return len(lines) + 1
