"""Change single values of a YAML file and leave the rest as it is: comments, order, the way of writing.

PyYAML tells where each value stands; the text between is not touched. What cannot be changed so, a file with aliases
say, is seen by the caller, who reads the new text again before it is used.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml as pyyaml

from hackathon.config.problems import KeyPath
from hackathon.config.yaml import scalar

_LOADER: Any = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
_PLAIN = re.compile(r"[A-Za-z0-9_./+$][\w./+$@%=~-]*(?::[\w./+$@%=~-]+)*(?: [\w./+$@%=~-]+)*\Z")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?\Z", re.ASCII)
"""A text here, a date to readers of YAML 1.1."""


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
    """Return the text with a value set at a path of mappings; mappings that are missing are made."""
    root, place = _root(text), 0
    node: Any = root
    if node is None or not isinstance(node, pyyaml.MappingNode):
        return text + _block(path, value)
    for place, key in enumerate(path):
        below = _below(node, key)
        if below is None:
            break
        if place == len(path) - 1:
            return f"{text[: below.start_mark.index]}{inline(value)}{text[_end(below) :]}"
        if not isinstance(below, pyyaml.MappingNode):
            before = text[: below.start_mark.index]  # `queues:` with nothing behind it has no blank either
            blank = "" if before.endswith((" ", "\n")) else " "
            return before + blank + inline(_nested(path[place + 1 :], value)) + text[_end(below) :]
        node = below
    if node is root and not root.flow_style:  # of a file in the way of JSON, all is inside the braces
        return text.rstrip("\n") + "\n" + _block(path, value)
    entry = f"{inline(str(path[place]))}: {inline(_nested(path[place + 1 :], value))}"
    if place == 1 and not node.value and not root.flow_style:  # `queues: {}` becomes a block: a line for each entry
        start, end = int(node.start_mark.index), int(node.end_mark.index)
        return text[:start].rstrip(" ") + f"\n  {entry}" + text[end:]
    if node.flow_style:
        end = int(node.end_mark.index) - 1
        before = text[:end].rstrip()
        return before + (entry if before.endswith("{") else f", {entry}") + text[end:]
    column, end = int(node.value[0][0].start_mark.column), text.find("\n", _end(node))
    end = len(text) if end < 0 else end
    return text[:end] + "\n" + " " * column + entry + text[end:]


def remove(text: str, path: Sequence[str | int]) -> str:
    """Return the text without a value; a mapping or list that would be empty goes with it. A missing one is fine."""
    node: Any = _root(text)
    above: list[Any] = []
    for key in path:
        above.append(node)
        node = _below(node, key)
        if node is None:
            return text
    parent, key = above[-1], path[-1]
    if len(parent.value) == 1 and len(path) > 1:
        return remove(text, path[:-1])
    if not parent.flow_style:
        first = _key(parent, key).start_mark.index if isinstance(parent, pyyaml.MappingNode) else node.start_mark.index
        start, end = text.rfind("\n", 0, first) + 1, text.find("\n", _end(node))
        return text[:start] + ("" if end < 0 else text[end + 1 :])
    kept = []
    for index, each in enumerate(parent.value):
        pair = each if isinstance(each, tuple) else (each, each)
        if (pair[0].value if isinstance(each, tuple) else index) != key:
            kept.append(text[pair[0].start_mark.index : _end(pair[1])])
    start, end = parent.start_mark.index, parent.end_mark.index
    return text[: start + 1] + ", ".join(kept) + text[end - 1 :]


def _root(text: str) -> Any:
    return pyyaml.compose(text, Loader=_LOADER)


def _below(node: Any, key: str | int) -> Any:
    """Return the node under a key of a mapping, or at an index of a list; None when there is none."""
    if isinstance(node, pyyaml.SequenceNode):
        return node.value[key] if isinstance(key, int) and key < len(node.value) else None
    if isinstance(node, pyyaml.MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    return None


def _key(node: Any, key: str | int) -> Any:
    return next(name for name, _ in node.value if name.value == key)


def _end(node: Any) -> int:
    """Return where a value's own text ends: PyYAML ends a block behind the comments that follow it."""
    if isinstance(node, pyyaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _nested(path: KeyPath, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _block(path: KeyPath, value: Any) -> str:
    """Return a new key of the top, with what is below it on a line of its own."""
    if len(path) == 1:
        return f"{inline(str(path[0]))}: {inline(value)}\n"
    return f"{inline(str(path[0]))}:\n  {inline(str(path[1]))}: {inline(_nested(path[2:], value))}\n"
