"""Parse the tables of `pjstat`: Fujitsu's, complete or with chosen columns, and a site's (Wisteria).

Neither has an end mark: a table without its last rows looks complete. Truncated lines are never used: a truncated
number is another job's. `samples/` has the recorded output.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hackathon.schedulers.base import CommandOutput

FUJITSU, SITE = "fujitsu", "site"
"""Values of `PjmDialect.table`."""
ID = r"[1-9]\d{0,17}"
"""A job's number. It excludes `0000`, the number of a message, and sub-jobs (`17[3]`, `17_1`)."""
CUT_NAME = 10
"""Longest name in a table, in characters."""
CUT_USER = 8
"""Width of the column for accounts in Fujitsu's table, in characters."""

_HEADING = {
    FUJITSU: re.compile(r"JOB_ID(?: +\S+)*\Z", re.ASCII),
    SITE: re.compile(r"JOB_ID +JOB_NAME +STATUS +PROJECT\b", re.ASCII),
}
_NONE = frozenset({"No unfinished job found.", "No finished job found.", "No matching job found."})
_DATE = re.compile(r"\(?(?:\d{4}/)?\d\d/\d\d\Z", re.ASCII)
_DATES = frozenset({"START_DATE", "ACCEPT"})
_LAST = "REASON"
_ROW_ID = re.compile(rf"{ID}\Z", re.ASCII)


class JobTable(NamedTuple):
    """The content of one `pjstat` table."""

    rows: dict[str, dict[str, str]]
    """Job id → value by the heading's words."""
    whole: bool
    """Every line after the heading is a complete row of a job or of its sub-jobs."""


def kind(answer: CommandOutput) -> str:
    """Return the variant of an answer's table, by its heading or its refusal of an option; "" when unclear."""
    for line in answer.stdout.split("\n")[:-1]:
        if _HEADING[SITE].match(line) or line.strip() in _NONE:
            return SITE
        if _HEADING[FUJITSU].match(line.rstrip()):
            return FUJITSU
    return SITE if answer.exit_code and "unrecognized arguments" in answer.stderr else ""


def read(answer: CommandOutput, expected: str) -> JobTable | None:
    """Return the table of an answer; None for a failure, another variant, or no table.

    A sentence that there is no job is an empty table. Lines above the heading (a site's news) are skipped.
    """
    if answer.exit_code or kind(answer) != expected:
        return None
    *lines, last = answer.stdout.split("\n")
    iterator = iter(lines)
    for line in iterator:
        if line.strip() in _NONE:
            return JobTable({}, True)
        if _HEADING[expected].match(line.rstrip()):
            return _rows(line.split(), iterator, complete=not last)
    return None


def _rows(names: list[str], lines: Iterator[str], *, complete: bool) -> JobTable:
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        words = line.split()
        if not words:
            continue
        if _ROW_ID.match(words[0]):
            # a job has one row; a second one would be a user's name that looks like a row
            rows.setdefault(words[0], _by_name(names, words))
        elif not re.match(rf"{ID}(?:\[|_)", words[0], re.ASCII):
            complete = False
    return JobTable(rows, complete)


def _by_name(names: list[str], words: list[str]) -> dict[str, str]:
    """Return a row's values by column: dates have two words, and the last column of reasons may have several."""
    values: dict[str, str] = {}
    position = 0
    for name in names:
        if position >= len(words):
            break
        end = position + 1
        if name in _DATES and _DATE.match(words[position]):
            end += 1
        if name == _LAST:
            end = len(words)
        values[name] = " ".join(words[position:end])
        position = end
    return values
