"""Read the sheets of an Excel workbook (xlsx), the only export of Microsoft Forms.

Only texts and numbers are read: no formula is evaluated, no link followed, no macro looked at. A workbook is a zip of
XML files: sizes are checked before anything is unpacked, and files with a document type (entities) are refused.
"""

import io
import warnings
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of Excel's older format, and of a workbook with a password."""
MOST_SHEETS, MOST_PARTS = 50, 1_000
LARGEST_UNPACKED = 64 << 20
"""Bytes of all files in a workbook."""
MOST_CELLS = 2_000_000
"""Cells of a sheet, also those that the file leaves out: a row can say that it is the millionth."""
HEADING_ROWS, MORE_COLUMNS = 3, 50
"""Rows that tell how wide a sheet is, and columns beside them that are looked at."""
MOST_TEXT = 16_000_000
"""Characters in the cells of a sheet; a workbook keeps a text once and can refer to it millions of times."""
_DOCUMENT_TYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


@dataclass
class WorkbookSheet:
    """A sheet's rows."""

    title: str
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    """(number from 1, cells) of the rows that are not blank."""
    formula: str = ""
    """The first cell with a formula, e.g. `B7`; empty without one."""


def read_workbook(raw: bytes, path: Path, most_rows: int, most_columns: int) -> list[WorkbookSheet]:
    """Return the sheets of a workbook.

    Raises RequestError: openpyxl is missing, an older format or a password, too large, damaged, not a workbook.
    """
    if raw.startswith(OLE):
        raise RequestError(
            "survey_import.old_workbook",
            "the workbook has Excel's older format (xls) or a password",
            hint="save it as xlsx without a password, or export it as CSV",
            file=path,
        )
    try:
        _check_parts(raw, path)
        if find_spec("openpyxl") is None:
            raise RequestError(
                "survey_import.needs_openpyxl",
                "an Excel workbook needs the package openpyxl, which is not installed",
                hint="pip install openpyxl (or, in a clone of the toolkit: pip install '.[office]'). Without a network"
                ": on a machine with one, pip download openpyxl -d wheelhouse; copy the folder; pip install --no-index "
                "--find-links wheelhouse openpyxl. Or save the workbook as CSV UTF-8",
                file=path,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles, which are not read
            return _sheets(raw, path, most_rows, most_columns)
    except RequestError:
        raise
    except Exception as error:  # openpyxl raises what its parsers of XML, numbers and dates raise
        raise RequestError(
            "survey_import.workbook",
            "the workbook cannot be read ({what})",
            hint="open it and save it again as xlsx, or export it as CSV",
            file=path,
            what=" ".join(str(error).split())[:100] or type(error).__name__,
        ) from None


def _check_parts(raw: bytes, path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
        if len(parts) > MOST_PARTS or sum(part.file_size for part in parts) > LARGEST_UNPACKED:
            raise RequestError(
                "survey_import.workbook_large",
                "unpacked, the workbook is larger than {limit} MiB",
                file=path,
                limit=LARGEST_UNPACKED >> 20,
            )
        if "xl/workbook.xml" not in archive.namelist():
            raise RequestError(
                "survey_import.no_workbook",
                "a zip file, but not an Excel workbook (xlsx)",
                hint="unpack it, or save the table as xlsx or CSV",
                file=path,
            )
        for part in parts:
            # zipfile reads no more than the size that was added up above
            if part.filename.endswith((".xml", ".rels")):
                content = archive.read(part)
                if any(mark in content for mark in _DOCUMENT_TYPES):
                    raise RequestError(
                        "survey_import.workbook_entities",
                        "{part} in the workbook declares a document type, which no spreadsheet program writes",
                        file=path,
                        part=part.filename[:100],
                    )


def _sheets(raw: bytes, path: Path, most_rows: int, most_columns: int) -> list[WorkbookSheet]:
    import openpyxl

    workbook = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=False, keep_links=False)
    try:
        sheets = []
        for worksheet in workbook.worksheets[:MOST_SHEETS]:
            # sizes that the file states are not trusted; one more than allowed, so that too many are noticed
            first = worksheet.iter_rows(max_row=HEADING_ROWS, max_col=most_columns + 1, values_only=True)
            width = max((at for row in first for at, value in enumerate(row, 1) if value is not None), default=0)
            columns = min(width + MORE_COLUMNS, most_columns + 1)
            rows = worksheet.iter_rows(max_row=most_rows + 1, max_col=columns)
            sheets.append(_sheet(worksheet.title, rows, path, most_rows, most_columns))
        return sheets
    finally:
        workbook.close()


def _sheet(title: str, rows: "Iterable[Any]", path: Path, most_rows: int, most_columns: int) -> WorkbookSheet:
    sheet = WorkbookSheet(title)
    total = counted = 0
    for number, row in enumerate(rows, 1):
        cells = []
        for cell in row:
            cells.append(_text(cell.value))
            if cell.data_type == "f" and not sheet.formula:
                sheet.formula = cell.coordinate
        while cells and not cells[-1].strip():
            cells.pop()
        total += sum(map(len, cells))
        counted += len(row)
        if number > most_rows or len(cells) > most_columns or counted > MOST_CELLS:
            raise RequestError(
                "survey_import.many",
                "more than {rows} rows or {columns} columns",
                file=path,
                rows=most_rows,
                columns=most_columns,
            )
        if total > MOST_TEXT:
            raise RequestError(
                "survey_import.workbook_text",
                "sheet {sheet} contains more than {limit} characters",
                file=path,
                sheet=title[:60],
                limit=f"{MOST_TEXT:,}",
            )
        if cells:
            sheet.rows.append((number, cells))
    return sheet


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).replace("\0", "")
