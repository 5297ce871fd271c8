"""One log of a run: its growing end, the lines around one, or the lines with certain words."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import run_key
from hackathon.runs.directory import files_of
from hackathon.text.numbers import digits
from hackathon.text.units import format_size
from hackathon.web.page import sanitize as clean
from hackathon.web.page.addresses import Options, option
from hackathon.web.views.run import allowed

MOST = 64 << 20
"""Bytes of a log that are read; of a longer one those at its end, and its lines have no numbers."""
LONGEST = 64 << 10
"""Bytes of one line that are read."""
AROUND, END = 150, 500
"""Lines on each side of one, and at the end, that are displayed."""
END_BYTES = 1 << 20
"""Bytes at the end that are read for them."""
HITS = 300
"""Matching lines that are displayed."""


@dataclass(frozen=True)
class LogLine:
    number: int | None
    """Counted from 1; None if the log is too long to count."""
    text: str
    hit: bool = False
    """Whether it is the requested line, or matches."""


@dataclass(frozen=True)
class LogPage:
    run: str
    """The run's key."""
    run_id: str
    run_name: str
    key: str
    name: str
    size: str
    lines: tuple[LogLine, ...]
    find: str = ""
    count: int = 0
    """Number of matching lines."""
    line: int = 0
    """The requested line; 0: none."""
    partly: str = ""
    """The size of the part at the end that was read; empty: all of it."""
    whole: bool = True
    """Whether no earlier lines are left out; around a line: none on either side."""
    live: bool = False
    """Whether more lines may come."""


def values(source: Catalog, key: str, options: Options = ()) -> dict[str, Any] | None:
    """Return the values of a log's page, key `<run>|<name>`; None if the log is missing, or must not be published."""
    run, _, name = key.rpartition("|")
    summary = source.find(run)
    rules = allowed(source)
    if summary is None or (rules is not None and not rules.logs):
        return None
    inside = files_of(f"{summary.project}/runs/{summary.id}")
    if not name.endswith(".log") or name not in inside.names("logs"):
        return None
    try:
        return {"view": log_page(source, summary, inside, name, options)}
    except OSError:
        return None


def log_page(source: Catalog, summary: RunEntry, inside: GuardedFolder, name: str, options: Options = ()) -> LogPage:
    """Return a log as the options request it: `line`, or `find`, else its end. Raises OSError if it cannot be read."""
    find, text = option(options, "find").strip(), option(options, "line")
    target = digits(text, 11) or 0
    with inside.open(f"logs/{name}") as stream:
        size = stream.seek(0, 2)
        begin = max(0, size - MOST)
        numbered = begin == 0
        count, complete = 0, True
        if find:
            lines, count = _found(stream, begin, numbered, find)
        elif target and numbered:
            lines, complete = _around(stream, target)
        else:
            lines, complete = _end(stream, size, numbered)
    page: LogPage = clean.value(
        LogPage(
            run=run_key(summary),
            run_id=summary.id,
            run_name=summary.name or summary.id,
            key=f"{run_key(summary)}|{name}",
            name=name,
            size=format_size(size),
            lines=(),
            find=find,
            count=count,
            line=target if any(line.hit for line in lines) and not find else 0,
            partly="" if numbered or not find else format_size(MOST),
            whole=complete,
            live=source.live and summary.ended is None,
        )
    )
    return LogPage(**{**page.__dict__, "lines": tuple(lines)})  # each line is cleaned already


def _lines(stream: BufferedReader, begin: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) after byte `begin`, without a line that began before it."""
    number, line = 0, b""
    stream.seek(begin)
    torn = begin > 0
    while part := stream.readline(LONGEST):
        line = line or part
        if not part.endswith(b"\n"):
            continue
        if torn:
            torn = False
        else:
            number += 1
            yield number, line
        line = b""
    if line and not torn:
        yield number + 1, line


def _text(raw: bytes) -> str:
    """Return a line for the page; of a progress bar its last state."""
    states = [state for state in raw.rstrip(b"\r\n").split(b"\r") if state]
    return clean.line((states[-1] if states else b"").decode("utf-8", "replace"))


def _found(stream: BufferedReader, begin: int, numbered: bool, find: str) -> tuple[list[LogLine], int]:
    """Return the first matching lines, case-insensitive, and the number of all."""
    words, matches, count = find.casefold(), list[LogLine](), 0
    plain = words.encode() if words.isascii() else b""
    for number, raw in _lines(stream, begin):
        if plain and plain not in raw.lower():  # most lines; the text decides for the others
            continue
        text = _text(raw)
        if words not in text.casefold():
            continue
        count += 1
        if len(matches) < HITS:
            matches.append(LogLine(number if numbered else None, text, True))
    return matches, count


def _around(stream: BufferedReader, target: int) -> tuple[list[LogLine], bool]:
    """Return the lines around one, and whether they are all; beyond the end the last ones."""
    window: list[tuple[int, bytes]] = []
    more = False
    for number, raw in _lines(stream, 0):
        if number > target + AROUND:
            more = True
            break
        window.append((number, raw))
        if len(window) > 2 * AROUND + 1:
            del window[0]
    lines = [LogLine(number, _text(raw), number == target) for number, raw in window if number >= target - AROUND]
    lines = lines or [LogLine(number, _text(raw)) for number, raw in window]
    return lines, not more and bool(lines) and lines[0].number == 1


def _end(stream: BufferedReader, size: int, numbered: bool) -> tuple[list[LogLine], bool]:
    """Return the lines at the end, and whether they are all."""
    begin = max(0, size - END_BYTES)
    tail = [*_lines(stream, begin)][-END:]
    before = 0
    if begin and numbered:
        stream.seek(0)
        left = begin
        while left and (block := stream.read(min(left, 1 << 20))):
            before += block.count(b"\n")
            left -= len(block)
        before += 1  # the line in which the part begins
    numbers = numbered or not begin
    lines = [LogLine(before + number if numbers else None, _text(raw)) for number, raw in tail]
    return lines, not begin and (not tail or tail[0][0] == 1)
