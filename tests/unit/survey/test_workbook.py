"""Surveys as Microsoft Forms exports them: nothing is evaluated, unpacked without limit or guessed."""

import io
import sys
import zipfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hackathon.cli.survey.import_ import command
from hackathon.survey.collection import Collection
from hackathon.survey.importing import Imported, import_answers
from support.paths import ROOT
from support.survey.exports import CLOSING, SAMPLES, ids, opened, sums

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setenv("HACKATHON_LANG", "en")
    return opened(tmp_path / "event", ROOT / "templates" / "surveys" / "hackathon.yaml")


@pytest.mark.parametrize("name", ["m3_msforms_en.xlsx", "m4_msforms_ja.xlsx"])
def test_eleven_answers(survey: Collection, name: str) -> None:
    imported = import_answers(survey, [SAMPLES / name])
    assert (imported.problems, imported.counted) == ([], 11)
    assert sums(survey) == CLOSING


HEADS = ["ID", "Start time", "Completion time", "length", "lecture", "handouts", "satisfaction", "comments"]


def workbook(*sheets: Sequence[Sequence[Any]]) -> bytes:
    """Return a workbook of these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"Sheet{number}")
        for row in rows:
            sheet.append(list(row))
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def take(survey: Collection, raw: bytes) -> Imported:
    path = survey.event_folder / "a.xlsx"
    path.write_bytes(raw)
    return import_answers(survey, [path])


def test_dates_numbers_and_the_sheet_with_the_questions(survey: Collection) -> None:
    moment = datetime(2026, 11, 28, 17, 20, 1)
    rows = [HEADS, [1, moment, moment, 2, 3.0, "4", 5, "1.5 h\nwere enough"], [2, moment, moment, 3, None, 3, 4]]
    imported = take(survey, workbook([["Notes"], ["x"]], rows))
    assert (imported.problems, imported.counted) == ([], 2)
    assert sums(survey) == {"length": 5, "lecture": 3, "handouts": 7, "satisfaction": 9}


def test_formulas_are_not_evaluated(survey: Collection) -> None:
    imported = take(survey, workbook([HEADS, [1, "", "", "=1+1", 3, 3, 3, ""]]))
    assert ids(imported) == {"formula"} and imported.problems[0].values["cell"] == "D2"
    other = take(survey, workbook([HEADS, [1, "", "", 2, 3, 3, 3, ""]], [["=1+1"]]))
    assert other.counted == 1


def test_damaged_and_other_files(survey: Collection) -> None:
    good = workbook([HEADS, [1, "", "", 2, 3, 3, 3, ""]])
    assert ids(take(survey, good[:200])) == {"workbook"}
    assert ids(take(survey, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))) == {"old_workbook"}
    assert ids(take(survey, workbook([]))) == {"empty"}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("answers.csv", "a,b")
    assert ids(take(survey, stream.getvalue())) == {"no_workbook"}


def replaced(raw: bytes, name: str, content: bytes) -> bytes:
    """Return a zip with one part replaced."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as before, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in before.namelist():
            archive.writestr(part, content if part == name else before.read(part))
    return stream.getvalue()


def test_bombs(survey: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    good = workbook([HEADS, [1, "", "", 2, 3, 3, 3, ""]])
    sheet = "xl/worksheets/sheet1.xml"
    huge = replaced(good, sheet, bytes(65 << 20))
    assert len(huge) < 1 << 20
    assert ids(take(survey, huge)) == {"workbook_large"}
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        xml = archive.read(sheet)
    entities = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>' + xml[xml.index(b"<worksheet") :]
    assert ids(take(survey, replaced(good, sheet, entities))) == {"workbook_entities"}
    far = xml.replace(b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    assert ids(take(survey, replaced(good, sheet, far))) == {"many"}
    monkeypatch.setattr("hackathon.survey.workbook.MOST_TEXT", 1000)
    assert ids(take(survey, workbook([HEADS, *[[1, "", "", 2, 3, 3, 3, "long text " * 20]] * 6]))) == {"workbook_text"}


def test_without_openpyxl(survey: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey.event_folder)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    result = CliRunner().invoke(command, [str(SAMPLES / "m3_msforms_en.xlsx")])
    assert result.exit_code == 2
    assert "pip install openpyxl" in result.stderr and "--find-links wheelhouse openpyxl" in result.stderr
