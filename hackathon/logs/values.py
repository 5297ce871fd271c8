"""Numbers from text, and streams of numbers in bounded memory."""

import math
import re
from array import array
from statistics import median

from hackathon.text import numbers

KEPT = 1 << 18
"""Values of one metric that are stored for a median; beyond, every second one is dropped, repeatedly."""
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?\Z")


def number(value: object) -> float | None:
    """Return a number from JSON or text (`"NaN"`, `"1,234.5"` too), or None for other values."""
    if not isinstance(value, str):
        return numbers.number(value)
    value = value.strip()
    try:
        return float(value.replace(",", "") if _GROUPED.match(value) else value)
    except ValueError:
        return None


def whole(digits: str) -> int:
    """Return the number in some digits; of more than 18, which no rank, step or id has, the first 18 count.

    A log may contain any number of digits in a row, and Python refuses to parse more than 4300 (ValueError).
    """
    return int(digits[:18])


class NumberStream:
    """A stream of numbers in bounded memory: the median of a long one comes from a thinned sample."""

    def __init__(self, skip: int = 0) -> None:
        self._skip = skip
        self._every = 1
        self._seen = 0
        self._sum = 0.0
        self._sample = array("d")
        self.first = self.last = self.least = self.greatest = math.nan

    def add(self, value: float) -> None:
        """Add one value; the first `skip` ones are ignored."""
        if self._skip > 0:
            self._skip -= 1
            return
        if not self._seen:
            self.first = self.least = self.greatest = value
        self.last = value
        if value < self.least:
            self.least = value
        if value > self.greatest:
            self.greatest = value
        self._sum += value
        if self._seen % self._every == 0:
            self._sample.append(value)
            if len(self._sample) >= KEPT:
                self._sample, self._every = self._sample[::2], self._every * 2
        self._seen += 1

    @property
    def taken(self) -> int:
        """Number of added values."""
        return self._seen

    def reduce(self, how: str) -> float | None:
        """Return one number for all (`median mean last first max min`), or None without values."""
        if not self._seen:
            return None
        if how == "median":
            finite = [value for value in self._sample if math.isfinite(value)]
            return median(finite) if finite else math.nan
        return {
            "mean": self._sum / self._seen, "first": self.first, "max": self.greatest, "min": self.least,
        }.get(how, self.last)  # fmt: skip
