"""Rebuild configuration records from plain values that were checked before, without pydantic."""

import functools
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin


def options(hint: Any) -> tuple[Any, ...]:
    """Return the types that a hint allows: unions taken apart, `Annotated` markers taken off."""
    origin = get_origin(hint)
    if origin is Annotated:
        return options(get_args(hint)[0])
    if origin in (Union, UnionType):
        return tuple(option for part in get_args(hint) for option in options(part))
    return (hint,)


def below(hint: Any, key: str | int) -> Any | None:
    """Return the type of what lies under a key of a record, a dict or a list; None when there is no such key."""
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
    """Return the record that `dataclasses.asdict` had turned into `value`. Raises ValueError when it does not fit."""
    for kind in _plan(hint):
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
                return value
        elif get_origin(kind) is dict:
            if isinstance(value, dict):
                inner = get_args(kind)[1]
                return {key: rebuild(inner, entry) for key, entry in value.items()}
        elif get_origin(kind) is list:
            if isinstance(value, list):
                inner = get_args(kind)[0]
                return [rebuild(inner, entry) for entry in value]
        elif get_origin(kind) is Literal and value in get_args(kind):
            return value
    raise ValueError(f"{value!r} does not fit {hint!r}")


@functools.cache
def _plan(hint: Any) -> tuple[Any, ...]:
    return options(hint)


@functools.cache
def _fields(record: type) -> dict[str, tuple[Any, bool]]:
    return {
        entry.name: (entry.type, entry.default is MISSING and entry.default_factory is MISSING)
        for entry in fields(record)
    }


def _record(record: type, value: dict[str, Any]) -> Any:
    known = _fields(record)
    if any(needed and name not in value for name, (_, needed) in known.items()):
        raise ValueError(f"{record.__name__} lacks a value")
    # .get would hide an unknown key, which tells that the value belongs to another version
    return record(**{name: rebuild(known[name][0], entry) for name, entry in value.items() if _must_know(known, name)})


def _must_know(known: dict[str, tuple[Any, bool]], name: str) -> bool:
    if name not in known:
        raise ValueError(f"unknown key {name!r}")
    return True
