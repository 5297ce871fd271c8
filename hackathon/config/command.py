"""A project's `command`: words, not shell. It is split first; then declared `{name}` are filled in."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from hackathon.config.problems import nearest, shown
from hackathon.text.errors import RequestError

COUNTS = ("processes", "nodes", "processes_per_node")
"""Placeholders with the job's own numbers, for programs that ask for them; a parameter of the same name comes first."""
_OPERATOR = re.compile(r"\|\||&&|>>|<<|\$\(|\$\{|\$[A-Za-z_][A-Za-z0-9_]*|[|&;<>`\n]")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def interpreter_of(command: Iterable[str]) -> str:
    """Return the Python in a command's first word, else `python3`: it runs the toolkit's programs in the job."""
    first = next(iter(command), "")
    return first if PurePath(first).name.startswith("python") else "python3"


def command_words(command: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the words of a command with its placeholders filled in; a value is always a single word.

    Quotes and backslashes have their POSIX shell meaning; a backslash at a line's end joins lines. Shell features
    (pipes, redirections, variables, several commands) are refused outside quotes and are plain text inside them. `{{`
    and `}}` stand for braces. Raises RequestError.
    """
    text = joined_lines(command).strip(" \t\r\n")
    for index in _unquoted(text):
        if match := _OPERATOR.match(text, index):
            operator = "\\n" if match[0] == "\n" else match[0]
            raise RequestError(
                "config.command_shell",
                "`{operator}` needs a shell, but a command is not run by a shell; put it into run.sh and write "
                "`command: bash run.sh`",
                operator=operator,
            )
    try:
        words = shlex.split(text)
    except ValueError:
        raise RequestError("config.command_quote", "a quote is not closed in {command}", command=shown(text)) from None
    if not words:
        raise RequestError("config.command_empty", "the command is empty")
    filled = tuple(_BRACES.sub(lambda match: _replacement(match, values), word) for word in words)
    if any("\0" in word for word in filled):
        raise RequestError("config.command_nul", "the command contains a NUL character")
    return filled


def _replacement(match: re.Match[str], values: Mapping[str, Any]) -> str:
    if match[0] in ("{{", "}}"):
        return match[0][0]
    name = match[1]
    if name is None or not re.fullmatch(r"[^\W\d][\w-]*", name):
        raise RequestError(
            "config.command_brace",
            "{text} is not the name of a parameter; write {{{{ and }}}} for braces",
            text=shown(match[0]),
        )
    if name not in values:
        near = nearest(name, values)
        if near:
            raise RequestError(
                "config.command_placeholder_near",
                "`{{{name}}}` is not declared under parameters; did you mean `{{{near}}}`?",
                name=name,
                near=near,
            )
        raise RequestError("config.command_placeholder", "`{{{name}}}` is not declared under parameters", name=name)
    value = values[name]
    if value is None:
        raise RequestError("config.command_no_value", "the parameter {name} has no value", name=name)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def joined_lines(command: str) -> str:
    """Return the command with unquoted backslash-newline pairs replaced by a space."""
    text = list(command)
    for index in _unquoted(command, escapes=True):
        if command[index] == "\\" and command[index + 1 : index + 2] == "\n":
            text[index : index + 2] = "  "
    return "".join(text)


def _unquoted(text: str, *, escapes: bool = False) -> Iterator[int]:
    """Yield the positions outside quotes; of an escaped pair only the backslash, and that only with `escapes`."""
    quote = ""
    index = 0
    while index < len(text):
        letter = text[index]
        if quote:
            if letter == "\\" and quote == '"':
                index += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == "\\":
            if escapes:
                yield index
            index += 1
        else:
            yield index
        index += 1
