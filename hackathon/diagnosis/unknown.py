"""Choose lines to read for a failure without a matching rule: the rarest lines before the first error.

Lines that every rank prints repeatedly are normal output. A line that was printed once, shortly before the end, is what
an expert wants to see. Numbers, paths, hosts and ranks are masked before lines are compared; no training data is
needed.
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
"""Bytes read from all logs together."""
LEAST, MOST = 32 << 10, 4 << 20
"""Bytes read from the end of one log; an eighth of that from its beginning."""
LETTERS = 500
"""Characters of a line that are stored."""
AFTER = 200
"""Lines after the first error that may still contain the text of the error itself."""
WORDS = 5
"""Lines after the first error that are listed at most: the end of a traceback, the launcher's message."""

# Error lines in logs without other evidence: exceptions begin their line, names in quotes do not count.
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
# Lines that this toolkit's job script prints for every job.
_OURS = re.compile(r"^hackathon: (?:ended with \d+$|.*: job \S+, attempt \d+, on )")
# Lines that torchrun prints for every job.
_TORCHRUN = re.compile(
    r"distributed[./]run(?:\.py:\d+\])?:? *(?:\*+|Setting OMP_NUM_THREADS .*)?$|^\*{20,}$|^Setting OMP_NUM_THREADS "
)


# Digits are masked first: then a log has few different lines.
_DIGITS = str.maketrans("123456789", "0" * 9)
_HOLE = re.compile(rb"\0{4,}")
_ZEROS = re.compile("0{2,}")


@dataclass(frozen=True, slots=True)
class _Kind:
    """Lines that are equal except for numbers."""

    mask: str
    error: bool
    dull: bool
    """Not worth reading: a rule, a progress bar, only numbers."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A line of a log that was read."""

    number: int
    """Its index among the lines that were read."""
    offset: int
    """Offset of its part of the file, in bytes."""
    line: int
    """Its line in that part, from 0."""
    text: str
    labelled: bool
    kind: _Kind


def masked(text: str) -> str:
    """Return a line with numbers, hexadecimal words and paths masked, for comparisons."""
    return " ".join(_MASK.sub(_sign, text).split())


def is_error(text: str) -> bool:
    """Return whether a line looks like an error."""
    return _ERROR.search(text) is not None and not is_result(text)


def is_result(text: str) -> bool:
    """Return whether a line says "error" of a measured value, or of none."""
    return _RESULT.search(text) is not None


def rarest(
    files: Sequence[LogFile], limit: int = 20, *, failed: bool = False, rank: int | None = None
) -> list[Evidence]:
    """Return the lines most worth reading, by file and line: the rarest before each log's first error.

    Empty when no log shows an error, unless `failed`: then the rarest lines before the ends. The beginning and the end
    of each log are read, READ bytes in total. `rank`: the first that failed; its log counts without an error too.
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
    """Yield (sort key, line) of one log; the smallest keys are chosen first."""
    end = first if first is not None else len(lines) - 1
    after = 0
    for line in lines[: end + 1 + AFTER]:
        if line.kind.dull:
            continue
        if line.number < end:
            # the rarest first; among equals the ones near the error
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
    """Yield the lines at a log's beginning and end; `kinds`: those of the lines so far."""
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
                # Python prints errors of destructors and goes on: until the exception, no line counts as an error
                kind = replace(kind, error=False)
                message = read_prefix(text, labelled=labelled).text
                ignored = message.startswith((_IGNORED, "Traceback ", " "))
            yield _Seen(number, offset, line, text, labelled, kind)
            number += 1


def _kind(text: str) -> _Kind:
    mask = masked(text)
    dull = (
        any(pattern.search(text) for pattern in (_BAR, _OURS, _TORCHRUN))
        or sum(letter.isalpha() for letter in mask) < 4
    )
    return _Kind(mask, is_error(text), dull)


def _parts(path: Path, share: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (offset, lines) of the parts of a file that are read."""
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
    if b"\0\0\0\0" in data:  # with the zeros of a hole, the first line would be too long
        data = _HOLE.sub(b"", data)
    lines = list(splitter.feed(data))
    remaining = splitter.rest()
    return [*lines, *([remaining] if remaining else [])]


def _line_start(path: Path, offset: int) -> int:
    """Return the start of the first complete line after an offset; the offset itself when none is near."""
    with open_regular(path) as stream:
        stream.seek(offset)
        return offset + stream.read(LEAST // 2).find(b"\n") + 1


def _sign(match: re.Match[str]) -> str:
    return "<path>" if match["path"] else "<hex>" if match["hex"] else "0"
