"""Check a recorded request from outside: is it one that this toolkit could have written?"""

import re
from collections.abc import Callable
from typing import Any, get_args

from hackathon.config.check import ADDRESS_SUFFIX
from hackathon.config.cluster import ALL_BINDINGS, ALL_LAUNCHERS, ContainerRuntime
from hackathon.jobs.request import Request

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_MOST = 10_000_000


def wrong_field(request: Request) -> str | None:
    """Return the name of a field with a wrong type or an impossible value, None if all fields are valid.

    It protects names that become parts of paths, numbers for arithmetic, and lists of words. The program itself, its
    shell lines and its variables stay untrusted.
    """
    return next((name for name, good in _RULES.items() if not good(getattr(request, name))), None)


def _text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value and len(value) < 10_000


def _texts(value: object) -> bool:
    return isinstance(value, tuple) and len(value) < 10_000 and all(_text(text) for text in value)


def _title(value: object) -> bool:
    """Return whether a value is a project's name: any letters, but a valid part of a path."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= 200
        and value.isprintable()
        and not ("/" in value or value.startswith("."))
    )


def _name(value: object) -> bool:
    return isinstance(value, str) and bool(_NAME.match(value))


def _number(least: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


def _or_none(rule: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or rule(value)


def _mapping(key: Callable[[object], bool], rule: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(key(name) and rule(entry) for name, entry in value.items())


def _scalar(value: object) -> bool:
    return isinstance(value, (bool, int, float)) or _text(value)


def _record(value: object) -> bool:
    return isinstance(value, dict)


def _container(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("runtime") in get_args(ContainerRuntime)
        and _or_none(_text)(value.get("program"))
        and all(_lines(value.get(name)) for name in ("options", "binds"))
        and value.get("gpus") in ("nvidia", "amd", "none")
    )


def _lines(value: object) -> bool:
    return isinstance(value, list) and all(_text(entry) for entry in value)


def _data(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(entry, dict) and _name(entry.get("name")) for entry in value)


_RULES: dict[str, Callable[[Any], bool]] = {
    "name": _title, "recipe": _or_none(_name), "framework": _or_none(_text), "cluster": _name, "scheduler": _name,
    "queue": _or_none(_text), "group": _or_none(_text), "reservation": _or_none(_text),
    "partition": _or_none(_text), "qos": _or_none(_text), "constraint": _or_none(_text),
    "master_addr_suffix": lambda value: isinstance(value, str) and bool(ADDRESS_SUFFIX.fullmatch(value)),
    "nodes": _number(1), "processes": _number(1), "processes_per_node": _number(1), "threads": _number(1),
    "gpus_per_node": _number(0), "walltime": _number(1), "stop_before": _number(0), "telemetry_seconds": _number(0),
    "launcher": lambda value: value in ALL_LAUNCHERS, "starter": _name, "mpi": _name,
    "command": lambda value: _texts(value) and bool(value), "parameters": _mapping(_text, _scalar),
    "environment": _texts, "variables": _mapping(lambda name: bool(_VARIABLE.match(str(name))), _text),
    "python_environment": _or_none(_record), "metric": _text, "metrics": _mapping(_text, _record), "data": _data,
    "check": _or_none(_record), "mode": _or_none(lambda value: value in ("weak", "strong")), "scratch": _text,
    "signal": lambda value: value in ("none", "TERM", "USR1", "USR2"), "mpi_options": _texts,
    "binding": _or_none(lambda value: value in ALL_BINDINGS), "directives": _texts, "exclude": _texts,
    "memory": _or_none(_number(1)), "gpus_per_process": _number(1),
    "source": _text, "shared": _mapping(_text, _text), "in_place": lambda value: isinstance(value, bool),
    "image": _or_none(_text), "container": _or_none(_container),
    "team": _or_none(_text), "plug_ins": _or_none(_mapping(_text, _text)), "origins": _mapping(_text, _text),
}  # fmt: skip
