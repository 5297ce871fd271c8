"""The options of a job from Python's keywords, as the command line reads them from texts."""

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.jobs.request import Options

_COUNTS = ("nodes", "processes", "processes_per_node", "threads")


def request_options(values: Mapping[str, Any]) -> "Options":
    """Return the options of these keywords; None means "not given". Raises RequestError for a bad name or value."""
    from hackathon.jobs.request import Options
    from hackathon.text.units import parse_walltime

    names = [entry.name for entry in fields(Options) if entry.name != "variables"]
    options = {name: value for name, value in values.items() if value is not None}
    for name, value in options.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise RequestError(
                "api.no_option",
                "there is no option {name!r}",
                hint="known: {names}",
                name=name,
                names=near[0] if near else ", ".join(names),
            )
        if name in _COUNTS and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise RequestError("api.no_count", "{name} is a number from 1, not {value!r}", name=name, value=value)
    walltime = options.get("walltime")
    if walltime is not None:
        options["walltime"] = _seconds(walltime, parse_walltime)
    if "parameters" in options:
        options["parameters"] = {str(name): _text(value) for name, value in dict(options["parameters"]).items()}
    return Options(**options)


def _seconds(value: Any, parse: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    from hackathon.text.units import clear_walltimes

    forms = clear_walltimes(value) if isinstance(value, str) else None
    try:
        if forms or not isinstance(value, str):
            raise ValueError
        return int(parse(value))
    except ValueError:
        raise RequestError(
            "api.no_walltime",
            "walltime is a number of seconds or a text such as 30m or 00:30:00, not {value!r}",
            value=value,
        ) from None


def _text(value: object) -> str:
    """Return a parameter's value as `-p NAME=VALUE` has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
