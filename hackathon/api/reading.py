"""Read JSON values of the toolkit's own functions into typed records."""

import functools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def read(kind: type[Record], value: Mapping[str, Any]) -> Record:
    """Return a record of a dataclass from a JSON object. Keys that the class does not have are ignored."""
    record: Any = kind
    hints = _hints(record)
    entries = fields(record)
    return kind(**{entry.name: _read(hints[entry.name], value[entry.name]) for entry in entries if entry.name in value})


def _read(hint: Any, value: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (Union, UnionType):
        records = [part for part in parts if is_dataclass(part)]
        return _read(records[0], value) if records and isinstance(value, Mapping) else value
    if origin is tuple:
        return tuple(_read(parts[0], entry) for entry in value)
    if isinstance(hint, type) and is_dataclass(hint):
        return read(hint, value)
    return value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
