"""The types of configuration records, and records from plain values: every value that does not fit is reported."""

import functools
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hackathon.text.light_dataclass import dataclass
from hackathon.text.units import clear_walltimes, parse_size, parse_walltime

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


@dataclass(frozen=True)
class Mismatch:
    """A value in a file that does not fit the record's type."""

    path: KeyPath
    rule: Literal[
        "missing", "unknown", "key", "kind", "small", "not_finite", "not_utf8", "walltime", "ambiguous", "size"
    ]
    """`key`: the key is not one of the allowed ones. `kind`: the value has none of the types in `hint`. `ambiguous`: a
    walltime such as 10, which schedulers read differently."""
    value: Any = None
    hint: Any = None
    """The expected type; for `small`, the lower bound."""


class _Mismatches(list[Mismatch]):
    """The mismatches of a file, or of a record that was stored: there a walltime is a number of seconds."""

    def __init__(self, *, stored: bool) -> None:
        super().__init__()
        self.stored = stored


def rebuild(hint: Any, value: Any) -> Any:
    """Return the record for plain values: those of a file, or the result of `dataclasses.asdict`.

    Raises ValueError if a value does not fit. `checked` reports all of them.
    """
    wrong = _Mismatches(stored=True)
    result = _read(hint, value, (), wrong)
    if wrong:
        raise ValueError(f"{wrong[0].path}: {wrong[0].value!r} does not fit {hint!r}")
    return result


def checked(hint: Any, value: Any) -> tuple[Any, list[Mismatch]]:
    """Return the record for plain values, and the mismatches; the record is None if there is one."""
    wrong = _Mismatches(stored=False)
    result = _read(hint, value, (), wrong)
    return (None if wrong else result), wrong


def _read(hint: Any, value: Any, path: KeyPath, wrong: _Mismatches) -> Any:
    """Return the value as the first type that has its form; add mismatches to `wrong`."""
    for kind, marker in _plan(hint):
        if isinstance(marker, Parsed):
            try:
                number = marker.read(value)
            except ValueError:
                wrong.append(Mismatch(path, marker.kind, value))
                return None
            if marker.kind == "walltime" and not wrong.stored and clear_walltimes(value):
                wrong.append(Mismatch(path, "ambiguous", value))
            return number
        if kind is NoneType:
            if value is None:
                return None
        elif kind is Any:
            return value
        elif isinstance(kind, type) and is_dataclass(kind):
            if isinstance(value, dict):
                return _record(kind, value, path, wrong)
        elif isinstance(kind, type):
            # isinstance counts a bool as an int; a record does not
            if type(value) is kind or (kind is float and type(value) is int):
                return _scalar(kind, marker, value, path, wrong)
        elif get_origin(kind) is dict:
            if isinstance(value, dict):
                word, inner = get_args(kind)
                return _mapping(word, inner, value, path, wrong)
        elif get_origin(kind) is list:
            if isinstance(value, list):
                inner = get_args(kind)[0]
                return [_read(inner, entry, (*path, index), wrong) for index, entry in enumerate(value)]
        elif get_origin(kind) is Literal and value in get_args(kind):
            return value
    wrong.append(Mismatch(path, "kind", value, hint))
    return None


def _scalar(kind: type, marker: Any, value: Any, path: KeyPath, wrong: _Mismatches) -> Any:
    if (kind is float and abs(value) > sys.float_info.max) or value != value:
        wrong.append(Mismatch(path, "not_finite", value))
    elif isinstance(marker, Least) and value < marker.least:
        wrong.append(Mismatch(path, "small", value, marker.least))
    elif isinstance(value, str) and not _encodes(value):
        wrong.append(Mismatch(path, "not_utf8", value))
    else:
        return float(value) if kind is float else value
    return None


def _encodes(text: str) -> bool:
    """Return whether a text can be written as UTF-8: half of a surrogate pair cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except ValueError:
        return False


def _mapping(word: Any, inner: Any, value: dict[str, Any], path: KeyPath, wrong: _Mismatches) -> dict[str, Any]:
    result = {}
    for key, entry in value.items():
        if word is not str and key not in get_args(word):
            wrong.append(Mismatch((*path, key), "key", key, word))
        else:
            result[key] = _read(inner, entry, (*path, key), wrong)
    return result


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


def _record(record: type, value: dict[str, Any], path: KeyPath, wrong: _Mismatches) -> Any:
    record_fields, before = _fields(record), len(wrong)
    wrong += [
        Mismatch((*path, name), "missing")
        for name, (_, is_needed) in record_fields.items()
        if is_needed and name not in value
    ]
    values = {}
    for name, entry in value.items():
        if name in record_fields:
            values[name] = _read(record_fields[name][0], entry, (*path, name), wrong)
        else:
            # never ignored: an unknown key can show that another version wrote the value
            wrong.append(Mismatch((*path, name), "unknown", entry))
    return record(**values) if len(wrong) == before else None
