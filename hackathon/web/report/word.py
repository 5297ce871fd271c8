"""The report for Word (docx), made from its Markdown: headings, lists, tables, photographs, charts.

Only the Markdown that `templates/report/report.md.j2` writes is understood.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hackathon.text.errors import RequestError
from hackathon.web.report.signed_files import MARK, signed_bytes

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

_PICTURE = re.compile(r"!\[(?P<alt>(?:\\.|[^\\\]])*)\]\((?P<file>[^()\s]+)\)\Z")
_SIGN = re.compile(r"\\([!-/:-@\[-`{-~])")
_PIECE = re.compile(r"\\([!-/:-@\[-`{-~])|(\*\*)|(\*)|(`+)")
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|(?:\s*-{3,}:?\s*\|)+\Z")
_FONT = "Yu Gothic"
"""The East Asian font of Word for Windows and Mac; other programs take theirs instead."""


def check_word() -> None:
    """Raise RequestError where python-docx is missing."""
    if find_spec("docx") is None:
        raise RequestError(
            "report.needs_docx",
            "a report for Word needs the package python-docx, which is not installed",
            hint="pip install python-docx (or, in a clone of the toolkit: pip install '.[office]'). Without a network: "
            "on a machine with one, pip download python-docx -d wheelhouse; copy the folder; pip install --no-index "
            "--find-links wheelhouse python-docx",
        )


def word_document(markdown: str, pictures: Mapping[str, bytes], title: str) -> bytes:
    """Return a signed docx of a report in Markdown; `pictures`: file in the Markdown → PNG or JPEG.

    A picture has its description in the Markdown as alternative text; one without a file here is left out. The same
    Markdown and pictures give the same bytes.
    """
    import docx
    from docx.oxml.ns import qn
    from docx.shared import Mm

    document = docx.Document()
    section = document.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    fonts = document.styles["Normal"].element.get_or_add_rPr().get_or_add_rFonts()
    fonts.set(qn("w:eastAsia"), _FONT)
    document.core_properties.title = title
    document.core_properties.author = ""
    document.core_properties.comments = ""
    for block in _blocks(markdown):
        _add(document, block, pictures)
    stream = io.BytesIO()
    document.save(stream)
    return signed_bytes(_plain_zip(stream.getvalue()))


def _blocks(markdown: str) -> Iterator[list[str]]:
    """Yield the lines of each block; blocks are parted by empty lines, a comment or a rule is none."""
    for block in re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL).split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip()]
        if lines and lines != ["---"]:
            yield lines


def _add(document: "Document", lines: Sequence[str], pictures: Mapping[str, bytes]) -> None:
    marks = re.match(r"(#{1,6}) ", lines[0])
    picture = _PICTURE.match(lines[0])
    if marks:
        level = len(marks[1])
        _write(document.add_heading(level=0 if level == 1 else level - 1), lines[0][marks.end() :])
    elif picture:
        _add_picture(document, pictures.get(picture["file"]), _SIGN.sub(r"\1", picture["alt"]))
    elif len(lines) > 1 and _RULE.match(lines[1]):
        _add_table(document, lines)
    elif lines[0].startswith("- "):
        for line in lines:
            _write(document.add_paragraph(style="List Bullet"), line.removeprefix("- "))
    else:
        _write(document.add_paragraph(), " ".join(lines))


def _add_picture(document: "Document", raw: bytes | None, alt: str) -> None:
    from docx.image.exceptions import UnrecognizedImageError
    from docx.shared import Mm

    if raw is None:
        return
    try:
        picture = document.add_picture(io.BytesIO(raw), width=Mm(150))
    except UnrecognizedImageError:
        return  # a form that Word does not show; its caption remains
    picture._inline.docPr.set("descr", alt)  # the library has no public name for it


def _add_table(document: "Document", lines: Sequence[str]) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in (lines[0], *lines[2:])]
    right = [cell.strip().endswith(":") for cell in _CELL.split(lines[1])[1:-1]]
    table = document.add_table(rows=len(rows), cols=len(right), style="Light Grid Accent 1")
    for number, cells in enumerate(rows):
        for at, cell in enumerate(cells[: len(right)]):
            paragraph = table.cell(number, at).paragraphs[0]
            _write(paragraph, cell)
            if right[at]:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT


def _write(paragraph: "Paragraph", text: str) -> None:
    """Add a line of Markdown: backslashes before signs, `**bold**`, `*italic*`, `code`."""
    bold = italic = False
    at, words = 0, ""

    def end() -> None:
        nonlocal words
        if words:
            run = paragraph.add_run(words)
            run.bold, run.italic = bold or None, italic or None
        words = ""

    while match := _PIECE.search(text, at):
        words += text[at : match.start()]
        at = match.end()
        if match[1]:
            words += match[1]
        elif match[4]:
            close = text.find(match[4], at)
            words += text[at : close if close >= 0 else len(text)].strip()
            at = close + len(match[4]) if close >= 0 else len(text)
        else:
            end()
            bold, italic = (not bold, italic) if match[2] else (bold, not italic)
    words += text[at:]
    end()


def _plain_zip(raw: bytes) -> bytes:
    """Return a zip without times, with the mark of generated files as its comment."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(raw)) as before,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in before.namelist():
            part = zipfile.ZipInfo(name)
            part.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(part, before.read(name))
        archive.comment = MARK.encode()
    return stream.getvalue()
