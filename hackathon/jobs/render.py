"""From a request to the job script. `render` gives exactly the bytes that a submission hands to the scheduler."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.cluster import Cluster, Dialect
from hackathon.jobs.check import FIELD_PATTERNS
from hackathon.jobs.lint import TemplateError, lint
from hackathon.jobs.request import Request
from hackathon.text.errors import RequestError
from hackathon.text.paths import shipped
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from jinja2 import Environment

_TOKEN = re.compile(r"[A-Za-z0-9_.,:=@+/-]{1,200}\Z")
_OPTION = re.compile(r"-{1,2}[A-Za-z][A-Za-z0-9_.,:=@+/ -]{0,200}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")


@dataclass(frozen=True)
class JobScript:
    """What lies in the run directory and is submitted."""

    job: str
    """`job.sh`."""
    rank: str
    """`rank.sh`, the same for every request unless a template overrides it."""


def render(request: Request, cluster: Cluster, template_folders: Iterable[Path] = ()) -> JobScript:
    """Return the scripts of a request.

    `template_folders` (a project's, an event's) are searched before the shipped templates, each for `jobs/NAME.sh.j2`;
    a template there may extend the shipped one as `shipped/NAME.sh.j2`. Raises TemplateError for a template that is not
    safe or not valid, RequestError for a value that may not stand in a header.
    """
    environment, values = _environment(template_folders), _values(request, cluster)
    return JobScript(_fill(environment, "job.sh.j2", values), _fill(environment, "rank.sh.j2", values))


def render_shell(request: Request, cluster: Cluster, template_folders: Iterable[Path] = ()) -> tuple[str, list[str]]:
    """Return, for an interactive job, the text that sets up its environment and the header's options as words."""
    environment, values = _environment(template_folders), _values(request, cluster)
    header = _fill(environment, f"scheduler-{request.scheduler}.sh.j2", values)
    words = [word for line in header.splitlines() for word in shlex.split(line)[1:] if line.startswith("#")]
    return _fill(environment, "shell.sh.j2", values), words


def _values(request: Request, cluster: Cluster) -> dict[str, Any]:
    return {
        "scheduler": request.scheduler,
        "launcher": request.launcher,
        "starter": request.starter,
        "mpi": request.mpi,
        "assignments": assignments(request),
        "directive": directives(request, cluster.dialect),
    }


def _fill(environment: "Environment", name: str, values: Mapping[str, Any]) -> str:
    import jinja2

    try:
        text = environment.get_template(name).render(values)
    except jinja2.TemplateNotFound as error:
        raise TemplateError("jobs.template_missing", name=error.name) from None
    except jinja2.UndefinedError as error:
        raise TemplateError("jobs.template_undefined", name=name, what=error.message) from None
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(
            "jobs.template_syntax", file=error.filename or name, line=error.lineno, what=error.message
        ) from None
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def assignments(request: Request) -> str:
    """Return the block of bash assignments: the only place where values meet the script.

    Every value is quoted by `shlex.quote`, so that no content of a parameter, note or name can be read as shell. Lists
    become arrays. Raises RequestError for a NUL character or a variable's name that bash would not take.
    """
    for name in request.variables:
        if not _NAME.match(name):
            raise RequestError("jobs.variable_name", name=name)
    values: dict[str, str | int | Iterable[str]] = {
        "HK_NAME": request.name,
        "HK_NODES": request.nodes,
        "HK_PROCESSES": request.processes,
        "HK_PROCESSES_PER_NODE": request.processes_per_node,
        "HK_THREADS": request.threads,
        "HK_WALLTIME": request.walltime,
        "HK_STOP_BEFORE": request.stop_before,
        "HK_STOP_SIGNAL": request.signal,
        "HK_TELEMETRY": request.telemetry_seconds,
        "HK_LAUNCHER": request.launcher,
        "HK_MODE": request.mode or "",
        "HK_GROUP": request.group or "",
        "HK_SCRATCH": request.scratch,
        "HK_SOURCE": request.source if request.in_place else "source",
        "HK_ENVIRONMENT": request.environment,
        "HK_VARIABLES": [f"{name}={value}" for name, value in request.variables.items()],
        "HK_MPI_OPTIONS": request.mpi_options,
        "HK_COMMAND": request.command,
    }
    return "\n".join(f"{name}={_quoted(name, value)}" for name, value in values.items())


def _quoted(name: str, value: "str | int | Iterable[str]") -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if "\0" in value:
            raise RequestError("jobs.value_nul", name=name)
        return shlex.quote(value)
    return f"({' '.join(_quoted(name, each) for each in value)})"


class Directives(dict[str, Any]):
    """The header's values by name; a name that the request does not have is empty, so that templates can test it."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name, "")


def directives(request: Request, dialect: Dialect) -> Directives:
    """Return the values that may stand in a header, each a token that means nothing to a shell.

    Raises RequestError for a value that is not such a token.
    """
    values: dict[str, Any] = {
        # to PBS a reservation is a queue
        "queue": (request.scheduler == "pbs" and request.reservation) or request.queue,
        "nodes": request.nodes,
        "processes": request.processes,
        "processes_per_node": request.processes_per_node,
        "threads": request.threads,
        "walltime": format_walltime(request.walltime),
        "seconds": request.walltime,
        "place": dialect.place,
        "exclusive": "yes" if dialect.exclusive else "",
        "reservation": request.reservation,
    }
    if dialect.group != "none":
        values[dialect.group] = request.group
    if dialect.cpu_request == "ncpus":
        values["ncpus"] = request.processes_per_node * request.threads
    gpus = min(request.gpus_per_node, request.processes_per_node)
    if gpus and dialect.gpu_request != "none":
        gres = f"gpu:{gpus}"
        values[dialect.gpu_request.replace("-", "_")] = gres if dialect.gpu_request == "gres" else gpus
    result = Directives()
    for name, value in values.items():
        if value in (None, ""):
            continue
        if not _TOKEN.match(str(value)):
            raise RequestError(
                "jobs.header_value", name=name, value=value, pattern=FIELD_PATTERNS.get(name, _TOKEN.pattern)
            )
        result[name] = value
    for option in request.directives:
        if not _OPTION.match(option):
            raise RequestError("jobs.header_value", name="directives", value=option, pattern=_OPTION.pattern)
    result["options"] = list(request.directives)
    return result


def _environment(template_folders: Iterable[Path]) -> "Environment":
    from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound

    folders = [Path(folder) / "jobs" for folder in template_folders]
    shipped_folder = shipped("templates", "jobs")

    class Loader(BaseLoader):
        """Own folders first, then the shipped ones; `shipped/NAME` is always the shipped one. Each is linted."""

        def get_source(self, environment: "Environment", template: str) -> tuple[str, str, Any]:
            own = not template.startswith("shipped/")
            for folder in [*(folders if own else []), shipped_folder]:
                path = folder / template.removeprefix("shipped/")
                if "/" not in template.removeprefix("shipped/") and path.is_file():
                    try:
                        text = path.read_text(encoding="utf-8")
                    except (OSError, UnicodeDecodeError) as error:
                        raise TemplateError("jobs.template_unreadable", file=path, what=error) from None
                    if folder is not shipped_folder:
                        lint(environment, template, text, str(path))
                    return text, str(path), None
            raise TemplateNotFound(template)

    return Environment(
        loader=Loader(),
        undefined=StrictUndefined,
        # bash's ${#array[@]} must not open a comment
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_bytecode_cache(),
    )


def _bytecode_cache() -> Any:
    """Return a cache for compiled templates in the user's cache folder, or None where that can not be written."""
    import os

    from jinja2 import FileSystemBytecodeCache

    from hackathon.text.paths import user_cache

    folder = user_cache() / "templates"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            return None
    except (OSError, RuntimeError):
        return None
    return FileSystemBytecodeCache(str(folder))
