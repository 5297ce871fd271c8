"""The table of `hackathon status`, fitted to a terminal, which would break a wide row inside a job's id."""

import re
from collections.abc import Sequence

from hackathon.text.columns import GAP, width, wrapped
from hackathon.text.printable import printable

INDENT = "    "
LAST = 8
"""Letters at the end of a run's id that name it."""
_STAMP = re.compile(r"\d{8}-\d{6}-(?=.)")
NO_JOB = "–"


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None) -> list[str]:
    """Return the head and the rows (run, state, job, since, reason) as lines of at most `columns`; None: any width.

    Where they are too wide, a reason without room follows its row in lines of its own, and the ids of runs lose
    their date, then the beginning of their name. A job's id stays in one piece: if need be, it follows its row, too.
    """
    cells = [list(head), *([printable(cell) for cell in row] for row in rows)]
    if columns is None:
        return _lines(cells, sum(_widths(cells)) + GAP * len(head) + max(width(row[-1]) for row in cells))
    if _needed(cells) > columns:
        for row in cells[1:]:
            row[0] = _STAMP.sub("", row[0], count=1)
        room = columns - _needed(cells) + _widths(cells)[0]
        if room < LAST:
            cells = [
                [run, state, since, f"{job}  {reason}".strip(f" {NO_JOB}")] for run, state, job, since, reason in cells
            ]
            room = columns - _needed(cells) + _widths(cells)[0]
        for row in cells[1:]:
            row[0] = _end(row[0], room)
    return _lines(cells, columns)


def _end(run: str, room: int) -> str:
    """Return the end of a run's id, from the beginning of a word on."""
    while width(run) > max(room, LAST) and "-" in run:
        run = run.partition("-")[2]
    return run


def _needed(cells: Sequence[Sequence[str]]) -> int:
    return sum(_widths(cells)) + GAP * (len(cells[0]) - 2)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column but the last."""
    return [max(width(row[at]) for row in cells) for at in range(len(cells[0]) - 1)]


def _lines(cells: Sequence[Sequence[str]], columns: int) -> list[str]:
    widths = _widths(cells)
    room = columns - _needed(cells) - GAP
    lines = []
    for number, row in enumerate(cells):
        *first, last = row
        line = "  ".join(cell + " " * (widths[at] - width(cell)) for at, cell in enumerate(first))
        fits = width(last) <= room
        lines.append((f"{line}  {last}" if fits else line).rstrip())
        if last and not fits and number:  # the head of a column without room says nothing
            lines += [INDENT + part for part in wrapped(last, max(1, columns - len(INDENT)))]
    return lines
