"""Read fields of JSON that anybody may have written: each reader returns one type, whatever lies there."""

import sys
from typing import Any

from hackathon.text.numbers import finite, integer

LONGEST = 2000
"""Letters of a name that are kept."""
MOST = 10**12
"""Counts and seconds from here on are not believed: no machine has so many."""
LATEST = 1e11
"""Seconds since 1970 that the clocks of this toolkit do not reach."""
_SHARED = 32  # letters of a text that thousands of runs may have in common


def text_of(value: object) -> str:
    """Return a text of at most LONGEST letters that can be written as UTF-8; a number as text, empty for the rest."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    try:
        text = str(value)[:LONGEST]
    except ValueError:  # a whole number of thousands of digits
        return ""
    text = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return sys.intern(text) if len(text) <= _SHARED else text


def texts_of(value: object) -> tuple[str, ...]:
    """Return the entries of a JSON list as texts in full; () for anything else."""
    return tuple(str(entry) for entry in listed(value))


def count_of(value: object) -> int:
    """Return a whole JSON number from 0 to MOST; 0, which is not known, for anything else."""
    count = integer(value)
    return count if count is not None and 0 <= count < MOST else 0


def moment_of(value: object) -> float | None:
    """Return seconds since 1970 as the clocks of this toolkit can have them, None for anything else."""
    moment = finite(value)
    return moment if moment is not None and 0 < moment < LATEST else None


def mapping_of(value: object) -> dict[str, Any]:
    """Return a JSON object; {} for anything else."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: object) -> dict[str, dict[str, Any]]:
    """Return those entries of a JSON object that are objects."""
    return {name: entry for name, entry in mapping_of(value).items() if isinstance(entry, dict)}


def listed(value: object) -> list[Any]:
    """Return a JSON list; [] for anything else."""
    return value if isinstance(value, list) else []
