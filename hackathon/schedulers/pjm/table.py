"""The tables that `pjstat` prints: Fujitsu's, whole or with chosen columns, and that of a site (Wisteria).

Neither has an end mark: a table whose last rows are missing looks whole. A line that does not end is never used: a
number that is cut off is another job's. What is on record lies in `samples/`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hackathon.schedulers.base import CommandOutput

FUJITSU, SITE = "fujitsu", "site"
"""Values of `PjmDialect.table`."""
ID = r"[1-9]\d{0,17}"
"""A job's number. `0000`, the number of a message, is none, and neither are sub-jobs (`17[3]`, `17_1`)."""
CUT_NAME = 10
"""Letters of a name that tables show at most."""
CUT_USER = 8
"""Letters that the column of Fujitsu's table has for an account."""

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
    """What one `pjstat` showed."""

    rows: dict[str, dict[str, str]]
    """Job id → value by the heading's words."""
    whole: bool
    """Every line below the heading is a row of a job or of its sub-jobs, and ends."""


def kind(answer: CommandOutput) -> str:
    """Return whose table an answer is, by its heading or its refusal of an option; nothing where it does not tell."""
    for line in answer.stdout.split("\n")[:-1]:
        if _HEADING[SITE].match(line) or line.strip() in _NONE:
            return SITE
        if _HEADING[FUJITSU].match(line.rstrip()):
            return FUJITSU
    return SITE if answer.exit_code and "unrecognized arguments" in answer.stderr else ""


def read(answer: CommandOutput, expected: str) -> JobTable | None:
    """Return the table of an answer; None for a failure, another table, or no table at all.

    A sentence that there is no job is an empty table. Lines above the heading (a site's news) are passed over.
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
            # one job has one row; a second one would be somebody's name that looks like one
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
