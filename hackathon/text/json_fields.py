"""Read fields of untrusted JSON: each reader returns one type for any value."""

import sys
from typing import Any

from hackathon.text.numbers import finite, integer

LONGEST = 2000
"""Characters of a name that are kept."""
MOST = 10**12
"""Counts and seconds from here on are not plausible."""
LATEST = 1e11
"""Seconds since 1970 that this toolkit's clocks do not reach."""
_SHARED = 32  # characters of a text that thousands of runs may share


def text_of(value: object) -> str:
    """Return a text of at most LONGEST characters that is valid UTF-8; a number as text, "" for other values."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    try:
        text = str(value)[:LONGEST]
    except ValueError:  # a whole number of thousands of digits
        return ""
    text = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return sys.intern(text) if len(text) <= _SHARED else text


def texts_of(value: object) -> tuple[str, ...]:
    """Return the entries of a JSON list as texts in full; () for other values."""
    return tuple(str(entry) for entry in listed(value))


def count_of(value: object) -> int:
    """Return a whole JSON number from 0 to MOST; 0, which is not known, for anything else."""
    count = integer(value)
    return count if count is not None and 0 <= count < MOST else 0


def moment_of(value: object) -> float | None:
    """Return plausible seconds since 1970, None for other values."""
    moment = finite(value)
    return moment if moment is not None and 0 < moment < LATEST else None


def mapping_of(value: object) -> dict[str, Any]:
    """Return a JSON object; {} for other values."""
    return value if isinstance(value, dict) else {}


def mappings_of(value: object) -> dict[str, dict[str, Any]]:
    """Return those entries of a JSON object that are objects."""
    return {name: entry for name, entry in mapping_of(value).items() if isinstance(entry, dict)}


def listed(value: object) -> list[Any]:
    """Return a JSON list; [] for other values."""
    return value if isinstance(value, list) else []
