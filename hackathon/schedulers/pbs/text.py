"""Parse the text of PBS's `-f`: a heading and `    name = value` lines, wrapped with a tab."""

import re
from typing import NamedTuple

_ATTRIBUTE = re.compile(r" {4}([A-Za-z_][\w.-]*) = (.*)\Z", re.ASCII | re.DOTALL)
_DURATION = re.compile(r"(?:(?:(\d{1,7}):)?(\d{1,4}):)?(\d{1,9})\Z", re.ASCII)
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?\Z", re.ASCII)
MOST_INDICES = 10_000_000
"""Indices of the largest array that a server accepts."""


class PrintedBlock(NamedTuple):
    """One job or queue as printed."""

    name: str
    attributes: dict[str, str]
    whole: bool
    """An empty line or another heading follows: the block is complete."""


def blocks(text: str, heading: str) -> list[PrintedBlock]:
    """Return every block that begins with `heading`.

    The first value of an attribute counts, so that a later line inside a user's variable does not replace it. Lines
    that are neither heading, attribute nor continuation are skipped.
    """
    printed: list[PrintedBlock] = []
    last: str | None = None
    for line in text.split("\n")[:-1]:
        line = line.rstrip("\r")
        if line.startswith(heading):
            if printed:
                printed[-1] = printed[-1]._replace(whole=True)
            printed.append(PrintedBlock(line[len(heading) :].strip(), {}, False))
            last = None
        elif not printed:
            continue
        elif not line and last is not None:
            # A truncated text ends after the last line's own line end, not with an empty line.
            printed[-1] = printed[-1]._replace(whole=True)
        elif line.startswith("\t"):
            if last is not None:
                printed[-1].attributes[last] += line[1:]
        elif match := _ATTRIBUTE.match(line):
            last = match[1] if match[1] not in printed[-1].attributes else None
            if last is not None:
                printed[-1].attributes[last] = match[2]
    return printed


def hosts(exec_host: str) -> tuple[str, ...]:
    """Return the hosts of `pn01/0*4+pn02/0*4`, each once, in order."""
    return tuple(dict.fromkeys(part.partition("/")[0] for part in exec_host.split("+") if part.partition("/")[0]))


def indices(text: str) -> int:
    """Return the number of indices in `1-6`, `1-9:2` or `1-3,7`; for invalid text, one more than any array has."""
    total = 0
    for part in text.split(","):
        match = _RANGE.match(part)
        if not match:
            return MOST_INDICES + 1
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        total += len(range(first, last + 1, max(1, step)))
    return total


def seconds(text: str) -> int | None:
    """Return seconds of `HH:MM:SS`, `MM:SS` or `SS`, or None."""
    match = _DURATION.match(text)
    return (int(match[1] or 0) * 60 + int(match[2] or 0)) * 60 + int(match[3]) if match else None
