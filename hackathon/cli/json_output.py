"""JSON on standard output."""

import math
import re
import sys
from collections.abc import Mapping
from typing import Any

import click

_COMMANDS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""DEL, 8-bit control characters, and direction marks: JSON does not escape them, but a terminal interprets them."""


VERSION = 1
"""The `schema_version` of values that do not have one of their own; `docs/reference/json.md` says when it grows."""


def echo_json(value: Mapping[str, Any], *, indent: int | None = 1) -> None:
    """Print an object with its `schema_version`; NaN and infinity, which JSON lacks, become null.

    On a terminal, control characters are escaped.
    """
    import json

    value = value if "schema_version" in value or "$schema" in value else {"schema_version": VERSION, **value}
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=indent, allow_nan=False)
    if sys.stdout.isatty():
        text = _COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    click.echo(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
