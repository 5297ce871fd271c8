"""The user's options of the command line, before anything is looked up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hackathon.text.errors import RequestError
from hackathon.text.units import parse_walltime


@dataclass(frozen=True)
class Options:
    """The shared options; None means "not given"."""

    cluster: str | None = None
    queue: str | None = None
    group: str | None = None
    reservation: str | None = None
    nodes: int | None = None
    processes: int | None = None
    processes_per_node: int | None = None
    threads: int | None = None
    walltime: int | None = None
    """Seconds."""
    launcher: str | None = None
    binding: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    """Texts of `-p NAME=VALUE`, read by the parameter's declared type."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables of the job with their literal values: the axes `env.NAME` of a study."""
    in_place: bool | None = None
    no_project: bool = False
    """Whether a recipe ignores the project around the current folder."""


_NUMBERS = frozenset({"nodes", "processes", "processes_per_node", "threads"})
_FROM_ENVIRONMENT = (
    "cluster",
    "queue",
    "group",
    "reservation",
    "processes_per_node",
    "threads",
    "walltime",
    "launcher",
    "binding",
)


def options_of_environment(environment: Mapping[str, str]) -> Options:
    """Return the options of the variables `HACKATHON_CLUSTER`, `HACKATHON_QUEUE`, `HACKATHON_WALLTIME`, …

    Raises RequestError naming the variable whose value cannot be read.
    """
    values: dict[str, Any] = {}
    for name in _FROM_ENVIRONMENT:
        variable = f"HACKATHON_{name.upper()}"
        text = environment.get(variable, "")
        if not text:
            continue
        try:
            values[name] = parse_walltime(text) if name == "walltime" else int(text) if name in _NUMBERS else text
        except ValueError as error:
            raise RequestError(
                "jobs.bad_variable",
                "environment variable {variable}={value} cannot be read",
                hint="unset it or give it a valid value",
                variable=variable,
                value=text,
            ) from error
    return Options(**values)
