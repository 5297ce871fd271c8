"""Shell lines and variables of a request on another cluster: the machine's are new, the program's stay.

A program from outside is not trusted: its lines are marked, and its values are taken literally.
"""

import re
from collections.abc import Iterator

from hackathon.config.cluster import Cluster
from hackathon.jobs.data import FOLDER
from hackathon.jobs.data import VARIABLES as DATA_VARIABLES
from hackathon.jobs.data import variables as data_variables
from hackathon.jobs.foreign_variables import is_refused, literal, set_by_line
from hackathon.jobs.request import Request
from hackathon.jobs.resolve import BUILT, DATA, PROJECT, Sources
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError

CRATE = "crate"
"""The origin of lines and variables of a program from outside."""
_OF_MACHINE = re.compile(r"\s*(module|ml)\s|.*/(etc/profile|modules|Modules)|export VIRTUAL_ENV=|unset PIP_ROOT")
"""Matches lines that probably belong to a machine, for requests without origins."""


def surroundings(old: Request, sources: Sources) -> tuple[list[tuple[str, str]], dict[str, tuple[str, str]]]:
    """Return shell lines and variables with their origins: the new cluster's, and the recorded ones of the program."""
    lines_kept = list(_kept_lines(old, sources))
    lines = _in_order(
        sources,
        [(line, origin) for line, origin in lines_kept if origin.startswith("recipe ")],
        [(line, origin) for line, origin in lines_kept if not origin.startswith("recipe ")],
    )
    return lines, _variables_here(old, sources) | dict(_kept_variables(old, sources))


def surroundings_of_crate(old: Request, sources: Sources) -> tuple[list[tuple[str, str]], dict[str, tuple[str, str]]]:
    """Return the same for a program from outside.

    Its recorded origins are not trusted: a recipe's lines and variables come from the recipe installed here. The rest
    has the origin CRATE, for the user to confirm, and its values are literal. Raises RequestError for a variable, set
    as such or in a line, that decides what is loaded or run beside the program.
    """
    recipe = sources.recipe
    of_recipe = f"recipe {recipe.name}" if recipe else ""
    own: list[tuple[str, str]] = []
    for line, origin in _kept_lines(old, sources):
        if recipe is not None and (origin.startswith("recipe ") or line in recipe.environment):
            continue
        name = set_by_line(line)
        if name is not None:
            raise RequestError(
                "crate.refused_line",
                "the RO-Crate sets {name} in an environment line: {line}\n"
                "This variable can change which code runs, so it is not taken from others",
                hint="if you do not need it, unpack the RO-Crate, delete the line from `environment` in "
                "request.json, and give the folder",
                name=name,
                line=line,
            )
        own.append((line, CRATE))
    lines = _in_order(sources, [(line, of_recipe) for line in (recipe.environment if recipe else ())], own)
    variables = _variables_here(old, sources)
    variables |= {name: (value, of_recipe) for name, value in (recipe.variables if recipe else {}).items()}
    for name, (value, origin) in _kept_variables(old, sources):
        if recipe is not None and origin.startswith("recipe ") and name in recipe.variables:
            continue
        if is_refused(name):
            raise RequestError(
                "crate.refused_variable",
                "the RO-Crate sets {name}={value}: this variable can change which code runs, so it is not "
                "taken from others",
                hint="if you do not need it, unpack the RO-Crate, delete {name} from `variables` in request.json, "
                "and give the folder",
                name=name,
                value=value,
            )
        variables[name] = (literal(value), CRATE)
    return lines, variables


def _in_order(
    sources: Sources, of_recipe: list[tuple[str, str]], of_project: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    built = sources.python_environment
    return [
        *((line, f"cluster {sources.cluster.name}") for line in sources.cluster.environment),
        *of_recipe,
        *((line, BUILT) for line in (built.lines if built else ())),
        *of_project,
    ]


def _kept_lines(old: Request, sources: Sources) -> Iterator[tuple[str, str]]:
    """Yield (line, recorded origin) of the shell lines that do not belong to a machine."""
    for line, origin in zip(old.environment, _origins(old, sources), strict=True):
        if not origin.startswith("cluster ") and origin != BUILT:
            yield line, origin


def _variables_here(old: Request, sources: Sources) -> dict[str, tuple[str, str]]:
    of_data = data_variables(old.data, sources.runs.parent / FOLDER) if old.data else {}
    return {name: (value, DATA) for name, value in of_data.items()} | {
        name: (value, f"cluster {sources.cluster.name}") for name, value in sources.cluster.variables.items()
    }


def _kept_variables(old: Request, sources: Sources) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (name, (value, recorded origin)) of the variables that do not belong to a machine."""
    profile = _known_here(old, sources)
    of_profile = profile.variables if profile else {}
    for name, value in old.variables.items():
        origin = old.origins.get(f"variables.{name}")
        if origin is None:
            origin = DATA if name in DATA_VARIABLES else "cluster" if name in of_profile else PROJECT
        if origin != DATA and not origin.startswith("cluster"):
            yield name, (value, origin)


def _origins(old: Request, sources: Sources) -> list[str]:
    """Return the origin of each shell line; for an older request without origins a guess."""
    if "environment.0" in old.origins:
        return [old.origins.get(f"environment.{number}", PROJECT) for number in range(len(old.environment))]
    profile = _known_here(old, sources)
    of_cluster = set(profile.environment) if profile else set()
    return ["cluster ?" if line in of_cluster or _OF_MACHINE.match(line) else PROJECT for line in old.environment]


def _known_here(old: Request, sources: Sources) -> Cluster | None:
    """Return the profile of the recorded cluster, None if it is unknown here."""
    try:
        return registry.load_cluster(old.cluster, [folder.parent for folder in sources.template_folders])
    except RequestError:
        return None
