"""Read measurements from a table written by people: CSV with a heading line, one measurement per line."""

import csv
import io
import math
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hackathon.prediction.rows import STRONG, WEAK, Kin, MeasuredValue, Series, series
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.messages import N_, _, ngettext
from hackathon.text.printable import printable

LARGEST = 64_000_000
"""Bytes of a table that are read: a million lines."""
SEPARATORS = ",;\t"
"""Possible separators; the heading line decides."""
MOST_SHOWN = 10
"""Errors that are listed at once."""
MOST = 10**9
"""Processes and nodes of a machine, at most."""
RANGE = (1e-100, 1e100)
"""Plausible values: the square of others exceeds a float."""
NEEDED = ("processes", "value")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")


@dataclass(frozen=True)
class MeasuredTable:
    """The series of a file, in the order of their first lines."""

    name: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class _Line:
    number: int
    cells: Mapping[str, str]
    """Column → text, normalised; every error contains the line number."""


@dataclass
class _Group:
    """The lines of one series. Lines without mode or unit have that of the others; two of them are an error."""

    mode: str = ""
    unit: str = ""
    measured: list[MeasuredValue] = field(default_factory=list)

    def add(self, line: _Line, measurement: MeasuredValue, problems: "_Problems") -> None:
        self.measured.append(measurement)
        for column in ("mode", "unit"):
            text = line.cells.get(column, "")
            text = text.casefold() if column == "mode" else text
            current = getattr(self, column)
            if text and current and text != current:
                problems.add(
                    line.number,
                    column,
                    N_("{value} in a series that has {other}; give such lines a series of their own"),
                    value=_shown(text),
                    other=_shown(current),
                )
            elif text:
                setattr(self, column, text)


class _Problems:
    """Errors of one file, reported together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[str] = []

    def add(self, line: int, column: str, key: str, **values: object) -> None:
        reason = _(key, **values)
        self.found.append(
            _("{file}, line {line}, {column}: {reason}", file=self.name, line=line, column=column, reason=reason)
        )

    def raise_any(self) -> None:
        if self.found:
            text = "\n".join(self.found[:MOST_SHOWN])
            more = len(self.found) - MOST_SHOWN
            if more > 0:
                text += "\n" + ngettext("… and {count} more error", "… and {count} more errors", more, count=more)
            raise RequestError(
                "predict.bad_table",
                "the table has errors:\n{errors}",
                hint="Correct these lines, or leave the value empty where a run failed.",
                errors=text,
            )


def read_table(path: Path) -> MeasuredTable:
    """Return the series of a CSV file; `-` is the standard input.

    Raises RequestError with file, line and column of every error.
    """
    if str(path) == "-":
        name, raw = "-", sys.stdin.buffer.read(LARGEST + 1)
    else:
        name = printable(str(path))
        try:
            with open_regular(path) as stream:
                raw = stream.read(LARGEST + 1)
        except OSError as error:
            raise RequestError(
                "predict.unreadable", "cannot read {path}: {reason}", path=name, reason=error.strerror or str(error)
            ) from None
    if len(raw) > LARGEST:
        raise RequestError(
            "predict.too_long",
            "{path} is longer than {limit} bytes",
            hint="Keep the lines that matter: at most a few repeats of each size.",
            path=name,
            limit=LARGEST,
        )
    return parse_table(raw, name)


def parse_table(raw: bytes, name: str) -> MeasuredTable:
    """Return the series of a table from its bytes (UTF-8, with or without mark). Raises RequestError."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise RequestError(
            "predict.not_text",
            "{path}, line {line}: not text in UTF-8",
            hint="Save the table as CSV with the encoding UTF-8.",
            path=name,
            line=line,
        ) from None
    if "\0" in text:
        raise RequestError(
            "predict.not_text",
            "{path}, line {line}: not text in UTF-8",
            hint="Save the table as CSV with the encoding UTF-8.",
            path=name,
            line=text[: text.index("\0")].count("\n") + 1,
        )
    problems = _Problems(name)
    groups: dict[tuple[str, ...], _Group] = {}
    for entry in _lines(text, name, problems):
        measured = _measurement(entry, problems)
        if measured is not None:
            key = tuple(entry.cells.get(column, "") for column in ("series", "cluster", "model", "framework"))
            groups.setdefault(key, _Group()).add(entry, measured, problems)
    problems.raise_any()
    if not groups:
        raise RequestError(
            "predict.empty",
            "{path} has no measurements",
            hint="Each line needs processes and value; a line without a value is a failed run.",
            path=name,
        )
    curves = [
        series(
            title or None, group.mode or WEAK, group.unit, group.measured, kin=Kin(*kin),
            notes=() if group.mode else ("weak-assumed",),
        )
        for (title, *kin), group in groups.items()
    ]  # fmt: skip
    return MeasuredTable(name, tuple(curves))


def _lines(text: str, name: str, problems: _Problems) -> Iterator[_Line]:
    """Yield the lines below the heading; raise RequestError for an invalid heading."""
    separator = _separator(text)
    reader = csv.reader(
        io.StringIO(text, newline=""), strict=True, skipinitialspace=separator != "\t", delimiter=separator
    )
    rows = _numbered(reader, problems)
    first = next(rows, None)
    if first is None:
        problems.raise_any()
        raise RequestError(
            "predict.empty",
            "{path} has no measurements",
            hint="Each line needs processes and value; a line without a value is a failed run.",
            path=name,
        )
    columns = [_normal(cell).casefold() for cell in first[1]]
    missing = [column for column in NEEDED if column not in columns]
    if missing:
        raise RequestError(
            "predict.no_column",
            "{path}, line {line}: column missing: {columns} (found: {found})",
            hint="The first line names the columns: processes,value and optionally nodes,repeat,mode,unit,series.",
            path=name,
            line=first[0],
            columns=", ".join(missing),
            found=printable(", ".join(columns))[:200],
        )
    twice = sorted({column for column in columns if column and columns.count(column) > 1})
    if twice:
        raise RequestError(
            "predict.column_twice",
            "{path}, line {line}: column {column} appears twice",
            path=name,
            line=first[0],
            column=printable(twice[0]),
        )
    for number, cells in rows:
        if len(cells) != len(columns):
            if len(cells) > len(columns):
                problems.add(
                    number,
                    columns[-1],
                    N_(
                        "{count} cells for {columns} columns; put numbers with thousands separators in quotes, or "
                        "write them without"
                    ),
                    count=len(cells),
                    columns=len(columns),
                )
                continue
            cells = [*cells, *[""] * (len(columns) - len(cells))]
        yield _Line(number, dict(zip(columns, map(_normal, cells), strict=True)))


def _separator(text: str) -> str:
    """Return the separator in the heading line: a comma unless it has none but another one."""
    lines = (line.strip() for line in io.StringIO(text))
    head = next((line for line in lines if line and not line.startswith("#")), "")
    return next((separator for separator in SEPARATORS if separator in head), ",")


def _numbered(reader: "Iterator[list[str]]", problems: _Problems) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of lines that are neither empty nor a comment; a broken quote ends the file."""
    before = 0
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            problems.add(before + 1, "–", N_("a quotation mark is not closed"))
            return
        number, before = before + 1, reader.line_num  # type: ignore[attr-defined]
        if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
            yield number, cells


def _normal(cell: str) -> str:
    """Return a cell's text with full-width letters and digits as plain ones, without spaces around it."""
    return cell.strip() if cell.isascii() else unicodedata.normalize("NFKC", cell).strip()


def _measurement(line: _Line, problems: _Problems) -> MeasuredValue | None:
    """Return the measurement in a line; None for one without a value, or with a reported error."""
    value_text = line.cells["value"]
    if not value_text:  # a failed run has a line without a value
        return None
    before = len(problems.found)
    processes = _count(line, "processes", problems)
    nodes = _count(line, "nodes", problems) if line.cells.get("nodes") else None
    value = _value(line, problems)
    mode = line.cells.get("mode", "").casefold()
    if mode and mode not in (WEAK, STRONG):
        problems.add(line.number, "mode", N_("{value} is neither weak nor strong"), value=_shown(mode))
    if processes and nodes and nodes > processes:
        problems.add(
            line.number,
            "nodes",
            N_("{nodes} nodes are more than {processes} {processes:process|processes}"),
            nodes=nodes,
            processes=processes,
        )
    if len(problems.found) > before or processes is None or value is None:
        return None
    return MeasuredValue(processes, value, nodes, line.cells.get("repeat", ""))


def _shown(text: str) -> str:
    return printable(text)[:60]


def _plain_number(text: str) -> float | None:
    """Return a number from its text, thousands in groups of three; None for other text."""
    if _THOUSANDS.match(text):
        text = text.replace(",", "")
    if text.casefold().lstrip("+-") in ("nan", "inf", "infinity"):
        return math.nan
    return float(text) if text.isascii() and len(text) < 400 and _NUMBER.match(text) else None


def _count(line: _Line, column: str, problems: _Problems) -> int | None:
    text = line.cells[column]
    if not text:
        problems.add(line.number, column, N_("empty, although the line has a value"))
        return None
    number = _plain_number(text)
    if number is None or not math.isfinite(number) or number != int(number) or not 1 <= number <= MOST:
        problems.add(line.number, column, N_("{value} is not a whole number of at least 1"), value=_shown(text))
        return None
    return int(number)


def _value(line: _Line, problems: _Problems) -> float | None:
    text = line.cells["value"]
    number = _plain_number(text)
    if number is None:
        problems.add(line.number, "value", N_("{value} is not a number"), value=_shown(text))
    elif not math.isfinite(number):
        problems.add(
            line.number,
            "value",
            N_("{value} is not a measurement; leave the cell empty if the run failed"),
            value=_shown(text),
        )
    elif number <= 0:
        problems.add(
            line.number,
            "value",
            N_("{value} must be greater than 0; leave the cell empty if the run failed"),
            value=_shown(text),
        )
    elif not RANGE[0] < number < RANGE[1]:
        problems.add(line.number, "value", N_("{value} is outside 1e-100 to 1e100"), value=_shown(text))
    else:
        return number
    return None
