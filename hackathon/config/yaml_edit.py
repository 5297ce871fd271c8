"""Change single values of a YAML file and keep comments, order and notation.

PyYAML reports the position of each value; the text between is not touched. Every new text is read again before it is
returned: an edit that would change another value too, e.g. through an alias, is refused.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml as pyyaml

from hackathon.config.problems import ConfigError
from hackathon.config.records import KeyPath
from hackathon.config.yaml import parse_yaml, scalar

_LOADER: Any = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
_PLAIN = re.compile(r"[A-Za-z0-9_./+$][\w./+$@%=~-]*(?::[\w./+$@%=~-]+)*(?: [\w./+$@%=~-]+)*\Z")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?\Z", re.ASCII)
"""A text here, a date to readers of YAML 1.1."""
_COMMA = re.compile(r"(?:\s|#[^\n]*\n)*,")
"""From the end of an entry in brackets to the comma after it."""
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n")


class NotEditableError(ValueError):
    """The file's notation does not allow changing this value alone: a person has to do it."""


def inline(value: Any) -> str:
    """Return a value on one line: `{nodes: 4, walltime: 00:30:00}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(str(key))}: {inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, str) and scalar(value) == value and _PLAIN.match(value) and not _DATE.match(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def set_value(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with a value set at a path of mappings; missing mappings are created.

    Raises NotEditableError.
    """
    return _edited(text, lambda bare: _set(bare, path, value), lambda old: _with(old, path, value))


def remove(text: str, path: Sequence[str | int]) -> str:
    """Return the text without a value and without a mapping or list that would be empty. A missing value is OK.

    Raises NotEditableError.
    """
    return _edited(text, lambda bare: _cut(bare, path), lambda old: _without(old, path))


def _edited(text: str, edit: Callable[[str], str], expected: Callable[[Any], Any]) -> str:
    """Return the text after an edit, if its value is then exactly the expected one."""
    bare = text.removeprefix("\ufeff")  # libyaml's positions do not count it
    try:
        old = parse_yaml(bare.encode(), Path()).value
        new = edit(bare)
        value = parse_yaml(new.encode(), Path()).value
    except (pyyaml.YAMLError, ConfigError, UnicodeEncodeError):
        raise NotEditableError from None
    if json.dumps(value or {}) != json.dumps(expected(old or {})):  # to Python, 1 and true are equal
        raise NotEditableError
    return text[: len(text) - len(bare)] + new


def _with(old: Any, path: KeyPath, value: Any) -> Any:
    if not path or not isinstance(old, dict):
        return _nested(path, value)
    return {**old, path[0]: _with(old.get(path[0]), path[1:], value)}


def _without(old: Any, path: Sequence[str | int]) -> Any:
    entries = dict(enumerate(old)) if isinstance(old, list) else old
    if not isinstance(entries, dict) or path[0] not in entries:
        return old
    below = _without(entries[path[0]], path[1:]) if len(path) > 1 else None
    remaining = {key: below if key == path[0] else entry for key, entry in entries.items()}
    if len(path) == 1 or (not below and entries[path[0]]):
        del remaining[path[0]]
    return list(remaining.values()) if isinstance(old, list) else remaining


def _set(text: str, path: KeyPath, value: Any) -> str:
    root, depth = _root(text), 0
    node: Any = root
    if not isinstance(node, pyyaml.MappingNode):
        return _appended(text, _block(path, value))
    for depth, key in enumerate(path):
        below = _below(node, key)
        if below is None:
            break
        if depth == len(path) - 1 or not isinstance(below, pyyaml.MappingNode):
            new, at, end = inline(_nested(path[depth + 1 :], value)), int(below.start_mark.index), _end(below, text)
            if isinstance(below, pyyaml.CollectionNode) and not below.flow_style:
                colon = text.index(":", _key(node, key).end_mark.index) + 1  # one line, up where the key is
                return f"{text[:colon]} {new}{text[colon:at].rstrip()}{text[end:]}"
            # `queues:` with nothing after it has no space either
            return text[:at] + ("" if text[:at].endswith((" ", "\n")) else " ") + new + text[end:]
        node = below
    if node is root and not root.flow_style:  # in a file in JSON notation, everything is inside the braces
        return _appended(text, _block(path, value))
    entry = f"{inline(str(path[depth]))}: {inline(_nested(path[depth + 1 :], value))}"
    if not node.value:
        start, end = text.index("{", node.start_mark.index), int(node.end_mark.index)
        if depth == 1 and not root.flow_style and not text[start + 1 : end - 1].strip():
            # `queues: {}` becomes a block: a line for each entry
            return _appended(text[:start].rstrip(" "), f"  {entry}") + text[end:]
        return text[: start + 1] + entry + text[start + 1 :]
    last = _end(node.value[-1][1], text)
    if node.flow_style:
        return f"{text[:last]}, {entry}{text[last:]}"
    column, end = int(node.value[0][0].start_mark.column), text.find("\n", last) + 1 or len(text)
    return _appended(text[:end], f"{' ' * column}{entry}\n", text) + text[end:]


def _cut(text: str, path: Sequence[str | int]) -> str:
    node: Any = _root(text)
    above: list[Any] = []
    for key in path:
        above.append(node)
        node = _below(node, key)
        if node is None:
            return text
    parent, key = above[-1], path[-1]
    if len(parent.value) == 1 and len(path) > 1:
        return _cut(text, path[:-1])
    named = isinstance(parent, pyyaml.MappingNode)
    pairs = parent.value if named else [(entry, entry) for entry in parent.value]
    spans = [(int(name.start_mark.index), _end(value, text)) for name, value in pairs]
    index = [name.value for name, _ in pairs].index(key) if named else int(key)
    if parent.flow_style:
        return _cut_between_commas(text, spans, index, int(parent.end_mark.index) - 1)
    start, end = text.rfind("\n", 0, spans[index][0]) + 1, text.find("\n", spans[index][1])
    return text[:start] + ("" if end < 0 else text[end + 1 :])


def _cut_between_commas(text: str, spans: Sequence[tuple[int, int]], index: int, closing: int) -> str:
    """Return the text without an entry in brackets and one comma, and without their line if it is empty then."""
    start, end = spans[index]
    comma = _COMMA.match(text, end, spans[index + 1][0] if index + 1 < len(spans) else closing)
    if comma and not text[end : comma.end() - 1].strip():
        end, comma = comma.end(), None
    elif comma is None and index:  # the last entry: remove the comma before it
        comma = _COMMA.match(text, spans[index - 1][1], start)
    line = text.rfind("\n", 0, start) + 1
    comment = _REST_OF_LINE.match(text, end)
    if comment and not text[line:start].strip():  # remove the comment after it too, as in a block
        start, end = line, comment.end()
    elif comma and not text[comma.end() : start].strip() and comma.end() <= start:
        start, comma = comma.end() - 1, None
    elif not text[end:].lstrip(" ").startswith("#"):
        end = len(text) - len(text[end:].lstrip(" "))
    cuts = [(start, end), *([(comma.end() - 1, comma.end())] if comma else [])]
    for first, behind in sorted(cuts, reverse=True):
        text = text[:first] + text[behind:]
    return text


def _root(text: str) -> Any:
    return pyyaml.compose(text, Loader=_LOADER)


def _below(node: Any, key: str | int) -> Any:
    """Return the node under a key of a mapping, or at an index of a list; None without one."""
    if isinstance(node, pyyaml.SequenceNode):
        return node.value[key] if isinstance(key, int) and key < len(node.value) else None
    if isinstance(node, pyyaml.MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    return None


def _key(node: Any, key: str | int) -> Any:
    return next(name for name, _ in node.value if name.value == key)


def _end(node: Any, text: str) -> int:
    """Return where a value's own text ends: PyYAML ends a block after its comments, a text block after its line."""
    if isinstance(node, pyyaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    end = int(node.end_mark.index)
    return len(text[:end].rstrip()) if getattr(node, "style", None) in ("|", ">") else end


def _nested(path: KeyPath, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _appended(text: str, lines: str, file: str = "") -> str:
    """Return a text with lines added after its last one; lines end as in the file."""
    new = "\r\n" if "\r\n" in (file or text) else "\n"
    return text + ("" if not text or text.endswith("\n") else new) + lines.replace("\n", new)


def _block(path: KeyPath, value: Any) -> str:
    """Return a new top-level key, with its content on separate lines."""
    if len(path) == 1:
        return f"{inline(str(path[0]))}: {inline(value)}\n"
    return f"{inline(str(path[0]))}:\n  {inline(str(path[1]))}: {inline(_nested(path[2:], value))}\n"
