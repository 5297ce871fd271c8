"""Read an exported table: CSV with any of the usual encodings and delimiters, or xlsx; within limits, never partially.

Source of the format: RFC 4180; delimiters `;` and tab as spreadsheets write them.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from hackathon.survey.heading_rows import MOST_ROWS as MOST_HEADING_ROWS
from hackathon.survey.heading_rows import Headings, Layout, headings_of
from hackathon.survey.workbook import OLE, ZIP, read_workbook
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular

LARGEST = 16 << 20
"""Bytes of a file."""
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 100_000, 2_000, 200_000
DELIMITERS = (",", ";", "\t")
GUESSED = ("utf-8", "cp932", "euc_jp")
"""Encodings that are tried, in this order, without a byte order mark."""


@dataclass(frozen=True)
class SheetRow:
    """A row of a table."""

    line: int
    """The line in the file where it begins, from 1."""
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """A table with its headings."""

    headings: tuple[str, ...]
    rows: tuple[SheetRow, ...]
    """Rows that are not blank."""
    encoding: str
    """`xlsx` for a workbook."""
    layout: Layout = ""


def read_file(path: Path) -> bytes:
    """Return a file's bytes. Raises RequestError: missing, not a regular file, too large, empty."""
    try:
        with open_regular(path) as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise RequestError(
            "survey_import.unreadable", "the file cannot be read: {what}", file=path, what=error.strerror or error
        ) from None
    if len(raw) > LARGEST:
        raise RequestError("survey_import.large", "the file is larger than {limit} MiB", file=path, limit=LARGEST >> 20)
    if not raw.strip():
        raise RequestError("survey_import.empty", "the file is empty", file=path)
    return raw


def read_table(raw: bytes, path: Path, encoding: str | None, fitting: Callable[[Sequence[str]], int]) -> Sheet:
    """Return the table in a file's bytes; `fitting` counts the meaningful headings of a guess.

    Raises RequestError: wrong or unknown encoding, NUL characters, an unclosed quotation mark (a truncated file), a
    workbook that cannot be read.
    """
    if raw.startswith((ZIP, OLE)):
        return _workbook_table(raw, path, fitting)
    best: tuple[int, int, str, str, str] | None = None
    failure: RequestError | None = None
    for name in [encoding] if encoding else _encodings(raw):
        try:
            text = _decoded(raw, path, name)
        except RequestError as error:
            failure = failure or error
            continue
        for delimiter in DELIMITERS:
            try:
                cells = _headings(text, path, delimiter, fitting).texts
            except RequestError as error:
                failure = failure or error
                continue
            # the first of equal guesses, because encodings and delimiters are ordered by how common they are
            if cells and (best is None or (fitting(cells), len(cells)) > best[:2]):
                best = (fitting(cells), len(cells), name, delimiter, text)
        if name == "utf-8":
            break  # other encodings are not valid UTF-8 by chance
    if best is None:
        raise failure or RequestError("survey_import.empty", "the file is empty", file=path)
    _, _, name, delimiter, text = best
    return _table(list(_rows(text, path, delimiter)), name, fitting)


def _workbook_table(raw: bytes, path: Path, fitting: Callable[[Sequence[str]], int]) -> Sheet:
    """Return the sheet whose headings have most meanings, the first one of equal ones."""
    best: tuple[int, Sheet, str] | None = None
    for sheet in read_workbook(raw, path, MOST_ROWS, MOST_COLUMNS):
        if not sheet.rows:
            continue
        table = _table(sheet.rows, "xlsx", fitting)
        if best is None or fitting(table.headings) > best[0]:
            best = fitting(table.headings), table, sheet.formula
    if best is None:
        raise RequestError("survey_import.empty", "the file is empty", file=path)
    _, table, formula = best
    if formula:
        raise RequestError(
            "survey_import.formula",
            "cell {cell} is a formula, and formulas are not evaluated",
            hint="replace formulas by their values (copy, then paste values), or export the sheet as CSV",
            file=path,
            cell=formula,
        )
    # a workbook leaves out the empty cells at the end of a row
    width = len(table.headings)
    rows = (SheetRow(row.line, row.cells + ("",) * (width - len(row.cells))) for row in table.rows)
    return Sheet(table.headings, tuple(rows), table.encoding, table.layout)


def _table(rows: list[tuple[int, list[str]]], name: str, fitting: Callable[[Sequence[str]], int]) -> Sheet:
    headings = headings_of([cells for _, cells in rows[:MOST_HEADING_ROWS]], fitting)
    body = (
        SheetRow(line, tuple(cells)) for line, cells in rows[headings.rows :] if any(cell.strip() for cell in cells)
    )
    return Sheet(headings.texts, tuple(body), name, headings.layout)


def _headings(text: str, path: Path, delimiter: str, fitting: Callable[[Sequence[str]], int]) -> Headings:
    rows: list[list[str]] = []
    try:
        for _, cells in islice(_rows(text, path, delimiter), MOST_HEADING_ROWS):
            rows.append(cells)
    except RequestError:
        if not rows:
            raise
        # damage below the first row says nothing about the delimiter; whoever reads all rows reports it
    return headings_of(rows, fitting) if rows else Headings(())


def _encodings(raw: bytes) -> Sequence[str]:
    if raw.startswith(b"\xef\xbb\xbf"):
        return ("utf-8-sig",)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    if b"\0" in raw:
        return ("latin-1",)  # no other encoding can decode it; `_decoded` reports the position
    return GUESSED


def _decoded(raw: bytes, path: Path, encoding: str) -> str:
    try:
        text = raw.decode(encoding)
    except LookupError:
        raise RequestError(
            "survey_import.no_encoding",
            "there is no encoding {encoding}",
            hint="utf-8, cp932 (Excel in Japanese), euc_jp, utf-16",
            encoding=encoding,
        ) from None
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = raw.count(b"\n", 0, at) + 1
        raise RequestError(
            "survey_import.encoding",
            "line {line} is not valid {encoding}",
            hint="set the encoding: --encoding cp932, utf-8, euc_jp, utf-16",
            file=path,
            line=line,
            encoding=encoding,
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise RequestError(
            "survey_import.nul",
            "line {line} contains a NUL character",
            hint="for UTF-16 without a byte order mark use --encoding utf-16-le; if it is a spreadsheet, export it "
            "as CSV",
            file=path,
            line=line,
        )
    return text.removeprefix("\ufeff")


def _rows(text: str, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of every row that is not blank."""
    before = csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    count, line = 0, 1
    try:
        for cells in reader:
            if cells:
                count += 1
                if count > MOST_ROWS or len(cells) > MOST_COLUMNS:
                    raise RequestError(
                        "survey_import.many",
                        "more than {rows} rows or {columns} columns",
                        file=path,
                        rows=MOST_ROWS,
                        columns=MOST_COLUMNS,
                    )
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise RequestError(
            "survey_import.torn",
            "the cell that starts in line {line} is not closed ({what}): the file may be incomplete",
            hint="download or export it again",
            file=path,
            line=line,
            what=error,
        ) from None
    finally:
        csv.field_size_limit(before)
