"""Field types of configuration records that need more than Python's own types; `records` reads the markers."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from hackathon.text.units import parse_size, parse_walltime

KeyPath = tuple[str | int, ...]
"""The way from the top of a file to a value: keys, and numbers for items of lists."""
LEAST_MEMORY = 2**20
"""Bytes. A smaller number probably lacks its unit."""


class Parsed:
    """Marks a field whose text is converted to a number by a function that raises ValueError.

    `kind` tells the reader of errors which text was meant. Numbers below `least` are refused too.
    """

    def __init__(
        self, parse: Callable[[Any], int], kind: Literal["walltime", "size"], example: str, least: int
    ) -> None:
        self.parse = parse
        self.kind = kind
        self.example = example
        self.least = least

    def read(self, value: Any) -> int:
        """Return the number for a value of a file. Raises ValueError."""
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise ValueError("neither text nor a whole number")
        number = self.parse(value)
        if number < self.least:
            raise ValueError(f"{value!r} is too small")
        return number


class Least:
    """Marks a number with a lower bound."""

    def __init__(self, least: int) -> None:
        self.least = least


Walltime = Annotated[int, Parsed(parse_walltime, "walltime", "00:30:00", 1)]
"""Seconds; written as 00:30:00, 90m or 2h."""
Size = Annotated[int, Parsed(parse_size, "size", "256 GB", LEAST_MEMORY)]
"""Bytes of memory; written as 256 GB."""
Positive = Annotated[int, Least(1)]
"""A whole number from 1."""
Natural = Annotated[int, Least(0)]
"""A whole number from 0."""
Amount = Annotated[float, Least(0)]
"""A number that is not negative."""
Count = Natural | Literal["auto"]
"""A number, or `auto`: detected on the machine itself."""
Text = str | dict[Literal["en", "ja"], str]
"""Text in one language, or `{en: …, ja: …}`."""
Scalar = bool | int | float | str
"""A parameter's value."""
