"""Field types of configuration records beyond Python's own types.

The records are standard-library dataclasses, so that a command that reads a checked file does not import pydantic.
pydantic reads these markers only when it validates (`__get_pydantic_core_schema__`).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from hackathon.text.units import parse_size, parse_walltime

LEAST_MEMORY = 2**20
"""Bytes. A smaller number probably lacks its unit."""


class Parsed:
    """Marks a field whose text is converted to a number by a function that raises ValueError.

    `kind` becomes the type of pydantic's error, so that the error message fits the field. Numbers below `least` are
    refused too.
    """

    def __init__(self, parse: Callable[[Any], int], kind: str, example: str, least: int) -> None:
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

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def read(value: Any) -> int:
            try:
                return self.read(value)
            except ValueError as error:
                raise PydanticCustomError(self.kind, "not a {kind}", {"kind": self.kind}) from error

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": [self.example]}


class Least:
    """Marks a number with a lower bound."""

    def __init__(self, least: int) -> None:
        self.least = least

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "ge": self.least}


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

STRICT = {"extra": "forbid", "use_attribute_docstrings": True, "allow_inf_nan": False}
"""pydantic's configuration of every record: unknown keys are errors, numbers are finite."""
