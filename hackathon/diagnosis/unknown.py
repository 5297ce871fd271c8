"""What to read of a failure that no rule knows: the rarest lines before the first error.

What every rank prints, and prints again and again, is how the program always talks. What was said once, shortly before
the end, is what somebody who knows the program wants to see. Numbers, paths, hosts and ranks are masked before lines
are compared; nothing has to be learnt before.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.scan import LogFile
from hackathon.logs.lines import Splitter, line_ends
from hackathon.logs.prefixes import SAMPLE, is_labelled, read_prefix
from hackathon.text.files import open_regular

READ = 8 << 20
"""Bytes of all logs together that are read."""
LEAST, MOST = 32 << 10, 4 << 20
"""Bytes of the end of one log that are read; of its beginning, an eighth of that."""
LETTERS = 500
"""Letters of a line that are kept."""
AFTER = 200
"""Lines after the first error in which the words of the error itself are still looked for."""
WORDS = 5
"""Lines after the first error that are shown at most: the end of a traceback, what the launcher says."""

# How a failure reads where nothing else says that there was one: exceptions begin their line, names in quotes do not.
_ERROR = re.compile(
    r"Traceback \(most recent call last\)|^\s*[\w.]*(?:Error|Exception|Interrupt)(?::|\s*$)|"
    r"\b(?:FATAL|CRITICAL|PANIC)\b|\b[Ff]atal error\b|^\s*[Ff]atal\b|Segmentation fault|[Cc]ore dumped|"
    r"\bAborted\b|\bKilled\b|terminate called|[Aa]ssertion\b.{0,80}\bfailed|^\s*error:|\bERROR\b|exited (?:on|with)|"
    r"[Nn]on-?zero (?:exit|status)|\bCANCELLED\b|MPI_ABORT|command not found"
)
# "0 errors", "error: 0.0123" and "Error rate: 3 %" are results.
_RESULT = re.compile(
    r"(?i)\b(?:0|no) (?:fatal )?errors?\b|\berror(?: rate)?\s*[:=]\s*-?[\d.]+(?:e[+-]?\d+)?\s*%?(?!\S)"
)
_MASK = re.compile(
    r"(?P<path>(?:~|\.{1,2})?(?:/[\w.+@%=-]+){2,}/?)|(?P<hex>0x[0-9a-fA-F]+|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b)|"
    r"(?P<number>[+-]?\d+(?:[.,:]\d+)*(?:[eE][+-]?\d+)?)"
)
_IGNORED = "Exception ignored in"
_BAR = re.compile(r"\d+%\|")
# What this toolkit's job script says of every job.
_OURS = re.compile(r"^hackathon: (?:ended with \d+$|.*: job \S+, attempt \d+, on )")


# Digits are all the same before anything else is looked at: then a log has few different lines.
_DIGITS = str.maketrans("123456789", "0" * 9)
_HOLE = re.compile(rb"\0{4,}")
_ZEROS = re.compile("0{2,}")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Lines that say the same with other numbers."""

    mask: str
    error: bool
    dull: bool
    """Nothing that somebody would read: a rule, a progress bar, numbers only."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One line of a log's part that was read."""

    number: int
    """Which line of what was read."""
    offset: int
    """Where the part that it is in begins, in bytes."""
    line: int
    """Which line of that part, from 0."""
    text: str
    labelled: bool
    kind: _Kind


def masked(text: str) -> str:
    """Return a line with numbers, hexadecimal words and paths replaced, to compare it with others."""
    return " ".join(_MASK.sub(_sign, text).split())


def is_error(text: str) -> bool:
    """Return whether a line reads like that of a failure."""
    return _ERROR.search(text) is not None and _RESULT.search(text) is None


def rarest(
    files: Sequence[LogFile], limit: int = 20, *, failed: bool = False, rank: int | None = None
) -> list[Evidence]:
    """Return the lines most worth reading, in the order of files and lines: the rarest before each log's first error.

    Nothing when no log shows an error, unless `failed`: then the rarest before the ends. Of each log its beginning and
    its end are read, READ bytes of all together. `rank`: who failed first, whose log counts also without an error.
    """
    share = min(MOST, max(LEAST, READ // max(1, len(files))))
    kinds: dict[tuple[str, bool], _Kind] = {}
    read = [list(_lines(file, share, kinds)) for file in files]
    counts = Counter(line.kind.mask for lines in read for line in lines)
    firsts = [next((line.number for line in lines if line.kind.error), None) for lines in read]
    if all(first is None for first in firsts) and not failed:
        return []
    indices = [
        index
        for index, first in enumerate(firsts)
        if first is not None or (rank is not None and files[index].rank == rank)
    ] or range(len(files))
    chosen: list[tuple[tuple[float, ...], int, _Seen]] = []
    masks: set[str] = set()
    for index in indices:
        for turn, line in _candidates(read[index], firsts[index], counts):
            if line.kind.mask not in masks:
                masks.add(line.kind.mask)
                chosen.append((turn, index, line))
    best = sorted(chosen, key=lambda entry: (entry[0], entry[1]))[:limit]
    before: dict[tuple[int, int], int] = {}
    evidence = []
    for _, index, line in sorted(best, key=lambda entry: (entry[1], entry[2].number)):
        position = index, line.offset
        if position not in before:
            before[position] = line_ends(files[index].path, line.offset)
        evidence.append(_evidence(files[index], line, before[position]))
    return evidence


def _candidates(
    lines: Sequence[_Seen], first: int | None, counts: Counter[str]
) -> Iterator[tuple[tuple[float, ...], _Seen]]:
    """Yield (how late it comes in the choice, line) of one log."""
    end = first if first is not None else len(lines) - 1
    after = 0
    for line in lines[: end + 1 + AFTER]:
        if line.kind.dull:
            continue
        if line.number < end:
            # the rarest first; of those the ones near the error
            yield (1.0, float(counts[line.kind.mask].bit_length()), float(end - line.number)), line
        elif line.number == end or line.kind.error:
            after += 1
            if after <= WORDS:
                yield (0.0, float(after), 0.0), line


def _evidence(file: LogFile, line: _Seen, before: int) -> Evidence:
    read = read_prefix(line.text, labelled=line.labelled)
    rank = file.rank if file.rank is not None else read.rank
    return Evidence(
        file.name, before + line.line + 1, read.text.strip()[:LETTERS], rank, file.host or read.host, read.time
    )


def _lines(file: LogFile, share: int, kinds: dict[tuple[str, bool], _Kind]) -> Iterator[_Seen]:
    """Yield the lines at a log's beginning and end; `kinds`: those of the lines seen so far."""
    number = 0
    for offset, texts in _parts(file.path, share):
        labelled = file.rank is None and is_labelled(texts[:SAMPLE])
        ignored = False
        for line, long in enumerate(texts):
            text = long[: 4 * LETTERS]
            if not text.strip():
                continue
            key = _ZEROS.sub("0", text.translate(_DIGITS)), labelled
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = _kind(read_prefix(text, labelled=labelled).text)
            if ignored or _IGNORED in text:
                # Python tells of a destructor that failed and goes on: up to the exception nothing is an error
                kind = replace(kind, error=False)
                message = read_prefix(text, labelled=labelled).text
                ignored = message.startswith((_IGNORED, "Traceback ", " "))
            yield _Seen(number, offset, line, text, labelled, kind)
            number += 1


def _kind(text: str) -> _Kind:
    mask = masked(text)
    dull = any(pattern.search(text) for pattern in (_BAR, _OURS)) or sum(letter.isalpha() for letter in mask) < 4
    return _Kind(mask, is_error(text), dull)


def _parts(path: Path, share: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (where it begins, lines) of the parts of a file that are read."""
    try:
        size = path.stat().st_size
        if size <= share + share // 8:
            yield 0, _cut(path, 0, size)
            return
        yield 0, _cut(path, 0, share // 8)
        start = _line_start(path, size - share)
        yield start, _cut(path, start, size)
    except OSError:
        return


def _cut(path: Path, start: int, end: int) -> list[str]:
    splitter = Splitter(states=False)
    with open_regular(path) as stream:
        stream.seek(start)
        data = stream.read(end - start)
    if b"\0\0\0\0" in data:  # with the zeros of a hole the line would be too long for what follows them
        data = _HOLE.sub(b"", data)
    lines = list(splitter.feed(data))
    remaining = splitter.rest()
    return [*lines, *([remaining] if remaining else [])]


def _line_start(path: Path, offset: int) -> int:
    """Return where the first whole line after a place begins; the place itself when there is none near."""
    with open_regular(path) as stream:
        stream.seek(offset)
        return offset + stream.read(LEAST // 2).find(b"\n") + 1


def _sign(match: re.Match[str]) -> str:
    return "<path>" if match["path"] else "<hex>" if match["hex"] else "0"
