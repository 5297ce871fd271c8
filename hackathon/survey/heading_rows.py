"""Headings in two and three rows: SurveyMonkey and Qualtrics.

Qualtrics: names of fields (`StartDate`, `Q1`, `Q2_1`), texts (`question - row`), and `{"ImportId": …}` in every cell.
SurveyMonkey: questions, and below them `Response`, `Open-Ended Response`, or the option or row of this column.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from hackathon.text.normalise import plain

Layout = Literal["", "qualtrics", "surveymonkey"]
MOST_ROWS = 3
_IMPORT_ID = '{"importid"'
_RESPONDENT = frozenset({"respondent id", "respondentid", "回答者 id", "回答者id"})
_NO_PART = frozenset({"", "response", "open-ended response", "回答", "自由回答", "自由回答形式の回答"})
_CHOICE = re.compile(r" - (?:Selected Choice|選択された選択肢|選択した選択肢)")
OF_QUALTRICS = frozenset({"status", "progress", "finished"})
"""Headings of columns without answers that only Qualtrics writes; elsewhere they may be questions."""


@dataclass(frozen=True)
class Headings:
    """The headings of a table."""

    texts: tuple[str, ...]
    rows: int = 1
    """How many rows they take."""
    layout: Layout = ""


def headings_of(rows: Sequence[Sequence[str]], fitting: Callable[[Sequence[str]], int]) -> Headings:
    """Return the headings in a table's first rows; `fitting` counts those with a meaning, to choose between two."""
    first = [cell.strip() for cell in rows[0]]
    for number in (1, 2):
        if number < len(rows) and _are_import_ids(rows[number]):
            texts = [cell.strip() for cell in rows[1]] if number == 2 else []
            texts += [""] * (len(first) - len(texts))
            merged = [_qualtrics(name, text, fitting) for name, text in zip(first, texts, strict=False)]
            return Headings(tuple(merged), number + 1, "qualtrics")
    if plain(first[0] if first else "") in _RESPONDENT and len(rows) > 1 and not (rows[1] or ("",))[0].strip():
        return Headings(tuple(_surveymonkey(first, [cell.strip() for cell in rows[1]])), 2, "surveymonkey")
    return Headings(tuple(first))


def _are_import_ids(cells: Sequence[str]) -> bool:
    filled = [cell.replace(" ", "").casefold() for cell in cells if cell.strip()]
    return bool(filled) and all(cell.startswith(_IMPORT_ID) for cell in filled)


def _qualtrics(name: str, text: str, fitting: Callable[[Sequence[str]], int]) -> str:
    if plain(name) in OF_QUALTRICS:
        return name
    text = _CHOICE.sub("", text)
    outer, sign, inner = text.rpartition(" - ")
    part = f"{outer} [{inner}]" if sign and not set(inner) & set("[]") else ""
    return next((heading for heading in (name, text, part) if heading and fitting([heading])), text or name)


def _surveymonkey(first: Sequence[str], second: Sequence[str]) -> list[str]:
    headings, question = [], ""
    for index in range(max(len(first), len(second))):
        heading = first[index] if index < len(first) else ""
        part = second[index] if index < len(second) else ""
        question = heading or question  # the columns after a question's first have a part alone
        if plain(part) in _NO_PART:
            headings.append(heading or (question if part else ""))
        else:
            headings.append(f"{question} [{part.replace('[', '(').replace(']', ')')}]")
    return headings
