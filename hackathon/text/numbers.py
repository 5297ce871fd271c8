"""Read numbers from values that anybody may have written: JSON, and digits in a text."""

import math


def number(value: object) -> float | None:
    """Return a JSON number as float, None for anything else (JSON's whole numbers can be too large for one)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def finite(value: object) -> float | None:
    """Return a JSON number as float, None for anything else and for NaN and Infinity."""
    amount = number(value)
    return amount if amount is not None and math.isfinite(amount) else None


def positive(value: object, below: float = math.inf) -> float | None:
    """Return a JSON number above 0 and below a bound, None for anything else."""
    amount = number(value)
    return amount if amount is not None and 0 < amount < below else None


def integer(value: object) -> int | None:
    """Return a whole JSON number, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def digits(text: str, longest: int = 9) -> int | None:
    """Return the number that a text of at most so many digits is, None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= longest else None
