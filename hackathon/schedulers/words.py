"""Prepare a scheduler's words and numbers for display or storage."""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from hackathon.schedulers.base import CommandOutput, SchedulerError
from hackathon.schedulers.reports import NodeGroup
from hackathon.text.numbers import digits

LONGEST = 400
"""Characters of a scheduler's output that a message repeats."""

_USAGE = re.compile(r"^usage:", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\Z")
_CLOCK = re.compile(r"(?:\w{3} )?(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\Z", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def words(answer: CommandOutput) -> str:
    """Return a command's message on one line: stderr, else stdout; without usage texts and unprintable bytes."""
    for text in (answer.stderr, answer.stdout):
        lines = []
        for line in text[: 10 * LONGEST].splitlines():
            if _USAGE.match(line.strip()):
                break
            if line.strip():
                lines.append(line.strip())
        if lines:
            return printable(" / ".join(lines))
    return "(no output)" if answer.exit_code == 0 else f"(no output, exit {answer.exit_code})"


def printable(text: str) -> str:
    """Return the text without control characters and undecodable bytes, shortened for messages."""
    cleaned = text.encode("utf-8", "replace").decode("utf-8")
    cleaned = "".join(letter if letter.isprintable() else " " for letter in cleaned).strip()
    return cleaned if len(cleaned) <= LONGEST else cleaned[:LONGEST] + "…"


def command(answer: CommandOutput) -> str:
    """Return the command's name without its folder."""
    return answer.argv[0].rpartition("/")[2] if answer.argv else "?"


def garbage(answer: CommandOutput) -> SchedulerError:
    """Return the error for an answer in another format than the command's, or for an incomplete one."""
    return SchedulerError(
        "schedulers.garbage",
        "Cannot interpret the output of {command}: {words}",
        hint="Run the command by hand. A proxy or a wrapper of the site may have answered instead. Try again later.",
        transient=True,
        command=command(answer),
        words=words(answer),
    )


def moment(text: str) -> float | None:
    """Return seconds since 1970 from `1795262635` or `2026-11-21T07:26:07` (local time), None for other text."""
    text = text.strip()
    if (seconds := digits(text, 11)) is not None:
        return float(seconds)
    if match := _ISO.match(text):
        return local_time(*(int(part) for part in match.groups()))
    return None


def clock_moment(text: str) -> float | None:
    """Return seconds since 1970 from `Sat Nov 21 07:07:15 2026` (this machine's zone), None when it is not a time."""
    match = _CLOCK.match(text.strip())
    if not match or match[1] not in _MONTHS:
        return None
    month = _MONTHS.index(match[1]) + 1
    return local_time(int(match[6]), month, int(match[2]), int(match[3]), int(match[4]), int(match[5]))


def local_time(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float | None:
    """Return seconds since 1970 of a time in this machine's zone, None for an invalid time."""
    try:
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    except (OverflowError, ValueError):
        return None


def grouped(groups: Iterable[NodeGroup], count: Callable[[Iterable[int]], int] = sum) -> list[NodeGroup]:
    """Return equal nodes together, the largest group first: one group per shape, with all queues of its nodes.

    `count` is `max` when nodes in several queues are listed once per queue.
    """
    by_shape: dict[NodeGroup, list[NodeGroup]] = {}
    for group in groups:
        by_shape.setdefault(replace(group, nodes=0, queues=()), []).append(group)
    merged = [
        replace(
            shape,
            nodes=count(group.nodes for group in same),
            queues=tuple(dict.fromkeys(queue for group in same for queue in group.queues)),
        )
        for shape, same in by_shape.items()
    ]
    return sorted(merged, key=lambda group: -group.nodes)
