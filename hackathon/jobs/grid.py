"""The grid of a study: which settings vary, their values, and all combinations.

An axis is `NAME=VALUE,VALUE,…`. NAME is a declared parameter, one of OPTIONS, or `env.VARIABLE`. If a parameter and an
option have the same name, write `parameters.NAME` or `options.NAME`. `settings.values_of` reads the values.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hackathon.config.cluster import ALL_LAUNCHERS
from hackathon.config.records import Scalar
from hackathon.jobs.parameters import read_value
from hackathon.jobs.request import Options, Request
from hackathon.jobs.resolve import Sources, declared_parameters, points
from hackathon.jobs.settings import Settings, point_key, values_of
from hackathon.text.errors import RequestError
from hackathon.text.messages import Message
from hackathon.text.units import format_walltime, parse_walltime, parse_walltime_setting

OPTIONS = ("launcher", "queue", "group", "reservation", "processes_per_node", "threads", "walltime")
"""Options of the toolkit that a study may vary; `--processes` has an option of its own."""
MOST = 1000
"""Most points of one study, including repeats."""

_VARIABLE = re.compile(r"(?!HK_|HACKATHON_)[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_COUNTS = frozenset({"processes_per_node", "threads"})


@dataclass(frozen=True)
class Axis:
    """One setting that varies."""

    name: str
    values: tuple[Scalar, ...]
    """At least one, without duplicates."""


@dataclass(frozen=True)
class Cell:
    """One point of a grid before submission."""

    request: Request
    settings: Settings

    @property
    def key(self) -> str:
        """The key of the point in its study."""
        return point_key(self.request.processes, self.settings)


def read_axes(texts: Sequence[str], sources: Sources) -> list[Axis]:
    """Return the axes of `NAME=VALUE,…` texts, in their order.

    Values have the parameter's declared type; equal ones count once. Raises RequestError for a name that cannot vary
    (with the nearest one that can), a name that appears twice or is also fixed on the command line, or an invalid
    value.
    """
    declared = declared_parameters(sources.project, sources.recipe)
    axes: list[Axis] = []
    for text in texts:
        written, sign, values = text.partition("=")
        written = written.strip()
        if not sign or not written or not values:
            raise RequestError(
                "grid.bad_axis", "cannot read --vary {text!r}", hint="write --vary NAME=VALUE,VALUE", text=text
            )
        try:
            words = values_of(values)
        except ValueError:
            raise RequestError(
                "grid.bad_values",
                "cannot read the values of {name}: {text!r}",
                hint="separate values with commas; put a value that contains a comma in quotation marks: "
                "'NAME=\"a,b\",c'",
                name=written,
                text=values,
            ) from None
        name, read = _axis(written, declared, sources.options)
        if any(axis.name == name for axis in axes):
            raise RequestError(
                "grid.twice", "{name} is varied twice", hint="give all its values in one --vary", name=written
            )
        unique: dict[str, Scalar] = {}
        for word in words:
            value = read(word)
            unique.setdefault(json.dumps(value), value)
        axes.append(Axis(name, tuple(unique.values())))
    return axes


def combinations(axes: Sequence[Axis]) -> list[dict[str, Scalar]]:
    """Return every combination of the axes' values once, the last axis fastest; one empty combination without axes."""
    names = [axis.name for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))]


def grid(sources: Sources, axes: Sequence[Axis], processes: Sequence[int], mode: str, repeat: int = 1) -> list[Cell]:
    """Return every point of a study: combination by combination, each in rising order of process counts.

    Weak and strong scaling change the parameters within each combination. Raises RequestError for more than MOST
    points, and as `resolve` does.
    """
    count = math.prod(len(axis.values) for axis in axes) * len(set(processes)) * repeat
    if count > MOST:
        raise RequestError(
            "grid.too_large",
            "the grid has {count} runs; the limit is {limit}",
            hint="vary fewer values, or measure in several studies",
            count=count,
            limit=MOST,
        )
    return [
        Cell(request, settings)
        for settings in combinations(axes)
        for request in points(with_settings(sources, settings), list(processes), mode)
    ]


def with_settings(sources: Sources, settings: Settings) -> Sources:
    """Return the sources with these settings as options of the command line."""
    parameters, variables = dict(sources.options.parameters), dict(sources.options.variables)
    declared = declared_parameters(sources.project, sources.recipe)
    chosen: dict[str, Any] = {}
    for name, value in settings.items():
        kind, bare = _kind(name, declared)
        if kind == "parameters":
            parameters[bare] = str(value)
        elif kind == "env":
            variables[bare] = str(value)
        else:
            chosen[bare] = parse_walltime(str(value)) if bare == "walltime" else value
    return replace(sources, options=replace(sources.options, parameters=parameters, variables=variables, **chosen))


def _kind(name: str, declared: Mapping[str, object]) -> tuple[str, str]:
    """Return the kind of a name (parameters, options, env, or empty) and the name without its prefix."""
    prefix, dot, bare = name.partition(".")
    if name in declared:
        return "parameters", name
    if name in OPTIONS:
        return "options", name
    if dot and prefix == "env":
        return "env", bare
    if dot and ((prefix == "parameters" and bare in declared) or (prefix == "options" and bare in OPTIONS)):
        return prefix, bare
    return "", name


def _axis(written: str, declared: Mapping[str, Any], options: Options) -> tuple[str, Callable[[str], Scalar]]:
    """Return the name of an axis in results, and the function that reads its values."""
    if written in declared and written in OPTIONS:
        raise RequestError(
            "grid.ambiguous",
            "{name} is both a parameter of the program and an option of the toolkit",
            hint="write parameters.{name} or options.{name}",
            name=written,
        )
    kind, bare = _kind(written, declared)
    both = bare in declared and bare in OPTIONS
    if kind == "parameters":
        if bare in options.parameters:
            raise RequestError(
                "grid.fixed",
                "{name} is varied and also fixed by {option}",
                hint="remove one of them",
                name=written,
                option=f"-p {bare}=…",
            )
        parameter = declared[bare]
        return (written if both else bare), lambda word: _parameter(bare, parameter, word)
    if kind == "options":
        if getattr(options, bare) is not None:
            raise RequestError(
                "grid.fixed",
                "{name} is varied and also fixed by {option}",
                hint="remove one of them",
                name=written,
                option=f"--{bare.replace('_', '-')}",
            )
        return (written if both else bare), lambda word: _option(bare, word)
    if kind == "env" and _VARIABLE.match(bare):
        return written, lambda word: _variable(written, word)
    if kind == "env":
        raise RequestError(
            "grid.bad_variable",
            "{name!r} is not the name of an environment variable that a study can vary",
            hint="use letters, digits and _; names that begin with HK_ or HACKATHON_ are reserved",
            name=bare,
        )
    raise _unknown(written, declared)


def _unknown(written: str, declared: Mapping[str, object]) -> RequestError:
    import difflib

    names = [*declared, *OPTIONS]
    near = difflib.get_close_matches(written.replace("-", "_"), names, 1)
    parameters = ", ".join(declared) or "–"
    key = (
        Message(
            "grid.unknown_near",
            "{name!r} cannot be varied; did you mean {near}?",
            hint="parameters: {parameters}; options: {options}; environment variables: env.NAME",
        )
        if near
        else Message(
            "grid.unknown",
            "{name!r} cannot be varied",
            hint="parameters: {parameters}; options: {options}; environment variables: env.NAME",
        )
    )
    return RequestError(
        key, name=written, near=near[0] if near else "", parameters=parameters, options=", ".join(OPTIONS)
    )


def _parameter(name: str, parameter: Any, word: str) -> Scalar:
    value = read_value(name, parameter, word)
    if isinstance(value, float) and not math.isfinite(value):
        raise RequestError(
            "jobs.parameter_type",
            "parameter {name}: {value!r} is not {type}",
            name=name,
            value=word,
            type=parameter.type,
        )
    return value


def _option(name: str, word: str) -> Scalar:
    try:
        if name in _COUNTS:
            value = int(word)
            if value < 1:
                raise ValueError
            return value
        if name == "walltime":
            return format_walltime(parse_walltime_setting(word))
    except ValueError:
        raise RequestError(
            "grid.bad_value", "{value!r} is not a valid value for {name}", name=name, value=word
        ) from None
    if name == "launcher" and word not in ALL_LAUNCHERS:
        raise RequestError(
            "grid.bad_launcher",
            "{value!r} is not a launcher",
            hint="launchers: {known}",
            value=word,
            known=", ".join(ALL_LAUNCHERS),
        )
    if not word:
        raise RequestError("grid.bad_value", "{value!r} is not a valid value for {name}", name=name, value=word)
    return word


def _variable(name: str, word: str) -> Scalar:
    if any(ord(letter) < 32 for letter in word):
        raise RequestError("grid.bad_value", "{value!r} is not a valid value for {name}", name=name, value=word)
    return word
