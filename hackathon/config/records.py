"""Create configuration records from valid plain values, without pydantic."""

import functools
import math
import sys
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hackathon.config.fields import Least, Parsed


def options(hint: Any) -> tuple[Any, ...]:
    """Return the types that a hint allows, without unions and `Annotated` markers."""
    origin = get_origin(hint)
    if origin is Annotated:
        return options(get_args(hint)[0])
    if origin in (Union, UnionType):
        return tuple(option for part in get_args(hint) for option in options(part))
    return (hint,)


def below(hint: Any, key: str | int) -> Any | None:
    """Return the type under a key of a record, a dict or a list; None without such a key."""
    for option in options(hint):
        if is_dataclass(option):
            for entry in fields(option):
                if entry.name == key:
                    return entry.type
        elif get_origin(option) is dict and isinstance(key, str):
            return get_args(option)[1]
        elif get_origin(option) is list and isinstance(key, int):
            return get_args(option)[0]
    return None


def rebuild(hint: Any, value: Any) -> Any:
    """Return the record for plain values: those of a file, or the result of `dataclasses.asdict`.

    Values that it accepts are also accepted by pydantic, with the same result. It raises ValueError without details for
    all others.
    """
    for kind, marker in _plan(hint):
        if isinstance(marker, Parsed):
            return marker.read(value)
        if kind is NoneType:
            if value is None:
                return None
        elif kind is Any:
            return value
        elif isinstance(kind, type) and is_dataclass(kind):
            if isinstance(value, dict):
                return _record(kind, value)
        elif isinstance(kind, type):
            # a bool is an int to isinstance, but never to a record
            if type(value) is kind:
                return _scalar(value, marker)
            if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
                return _scalar(float(value), marker)
        elif get_origin(kind) is dict:
            if isinstance(value, dict):
                word, inner = get_args(kind)
                return {rebuild(word, key): rebuild(inner, entry) for key, entry in value.items()}
        elif get_origin(kind) is list:
            if isinstance(value, list):
                inner = get_args(kind)[0]
                return [rebuild(inner, entry) for entry in value]
        elif get_origin(kind) is Literal and value in get_args(kind):
            return value
    raise ValueError(f"{value!r} does not fit {hint!r}")


def _scalar(value: Any, marker: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if isinstance(value, str) and not value.isascii():
        value.encode()  # a lone surrogate is a ValueError
    if isinstance(marker, Least) and value < marker.least:
        raise ValueError(f"{value!r} is too small")
    return value


@functools.cache
def _plan(hint: Any) -> tuple[tuple[Any, Any], ...]:
    """Return (type, its marker or None) for the types that a hint allows, in the order in which they are tried."""
    if get_origin(hint) is Annotated:
        inner, marker = get_args(hint)
        return tuple((kind, marker) for kind, _ in _plan(inner))
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for part in get_args(hint) for kind in _plan(part)]
        # a text is parsed only if no other type accepts the value; so is a whole number for a float
        return tuple(sorted(kinds, key=lambda entry: isinstance(entry[1], Parsed) or entry[0] is float))
    return ((hint, None),)


@functools.cache
def _fields(record: type) -> dict[str, tuple[Any, bool]]:
    return {
        entry.name: (entry.type, entry.default is MISSING and entry.default_factory is MISSING)
        for entry in fields(record)
    }


def _record(record: type, value: dict[str, Any]) -> Any:
    record_fields = _fields(record)
    if any(needed and name not in value for name, (_, needed) in record_fields.items()):
        raise ValueError(f"{record.__name__} lacks a value")
    # .get would hide an unknown key, which shows that the value belongs to another version
    return record(
        **{
            name: rebuild(record_fields[name][0], entry)
            for name, entry in value.items()
            if _must_know(record_fields, name)
        }
    )


def _must_know(record_fields: dict[str, tuple[Any, bool]], name: str) -> bool:
    if name not in record_fields:
        raise ValueError(f"unknown key {name!r}")
    return True
