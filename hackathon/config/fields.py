"""Field types of configuration records that need more than Python's own types.

The records are standard-library dataclasses, so that a command which reads an already checked file does not import
pydantic; pydantic reads these markers only when it validates (`__get_pydantic_core_schema__`).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from hackathon.text.units import parse_size, parse_walltime


class Parsed:
    """Marks a field whose text is turned into a number by a function that raises ValueError."""

    def __init__(self, parse: Callable[[Any], int], example: str) -> None:
        self.parse = parse
        self.example = example

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.parse)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "integer"}], "examples": [self.example]}


def _walltime(value: Any) -> int:
    if not isinstance(value, (str, int)):
        raise ValueError("a walltime is text such as 00:30:00, 90m or 2h")
    return parse_walltime(value)


def _size(value: Any) -> int:
    if not isinstance(value, (str, int)):
        raise ValueError("a size is text such as 256 GB")
    return parse_size(value)


Walltime = Annotated[int, Parsed(_walltime, "00:30:00")]
"""Seconds; written as 00:30:00, 90m or 2h."""
Size = Annotated[int, Parsed(_size, "256 GB")]
"""Bytes; written as 256 GB."""
Count = int | Literal["auto"]
"""A number, or `auto`: looked up on the machine itself."""
Text = str | dict[str, str]
"""Text in one language, or `{en: …, ja: …}`."""
Scalar = bool | int | float | str
"""A parameter's value."""

STRICT = {"extra": "forbid", "use_attribute_docstrings": True}
"""pydantic's configuration of every record: unknown keys are errors."""
