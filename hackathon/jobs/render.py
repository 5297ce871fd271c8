"""Render a request as a job script. `render` returns exactly the bytes that a submission sends to the scheduler."""

import errno
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.cluster import Cluster
from hackathon.jobs.request import Request
from hackathon.jobs.script import SCRIPTS, JobScript, shell_word
from hackathon.schedulers import registry
from hackathon.schedulers.dialect import TOKEN, Dialect, Header
from hackathon.schedulers.foreign import TASK_VARIABLES
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.paths import is_shipped, shipped
from hackathon.text.units import format_size

if TYPE_CHECKING:
    from jinja2 import Environment

    from hackathon.access.ownership import Trusted

    Folders = Iterable[Path] | Mapping[Path, Trusted | None]

_OPTION = re.compile(r"-{1,2}[A-Za-z][A-Za-z0-9_.,:=@+/ -]{0,200}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_LARGEST = 1 << 16
"""Most bytes of a template; the largest shipped one has 11,000."""


def render_job(request: Request, cluster: Cluster) -> str:
    """Return `job.sh` by the shipped templates, as `render` does. Raises as `render` does."""
    dialect = registry.load_dialect(request.scheduler, cluster.dialect)
    return _fill(_environment((), dialect, cluster), "job.sh.j2", _values(request, dialect))


def render(
    request: Request, cluster: Cluster, template_folders: "Folders" = (), *, handed_on: Path | None = None
) -> JobScript:
    """Return the scripts of a request.

    `handed_on`: the script is for a folder from which users submit many jobs, each of which works in a folder of its
    own; the value is the project's folder, `$HK_PROJECT` in the environment's lines.

    `template_folders` (a project's, an event's) are searched before the shipped templates, each for `jobs/NAME.sh.j2`;
    a template there may extend the shipped one as `shipped/NAME.sh.j2`. Between them come those that the cluster takes
    from an installed package. A mapping names the accounts whose files count in each folder; they are checked on the
    file that is read, as it may have been replaced since. Raises ForeignError for a template that does not
    count, RequestError for one that is not safe or not valid and for a value that may not stand in a header.
    """
    dialect = registry.load_dialect(request.scheduler, cluster.dialect)
    environment, values = _environment(template_folders, dialect, cluster), _values(request, dialect)
    if handed_on is not None:
        values["handed_on"] = True
        values["assignments"] += f"\nHK_OF_PROJECT={_quoted('HK_OF_PROJECT', str(handed_on))}"
    job, library, rank = (_fill(environment, f"{name}.j2", values) for name in SCRIPTS)
    return JobScript(job, rank, library)


def render_shell(
    request: Request, cluster: Cluster, template_folders: "Folders" = (), *, interactive: str = "", texts: str = ""
) -> tuple[str, list[str]]:
    """Return, for an interactive job, the text that sets up its environment and the header's options as words.

    `interactive` and `texts`: what the job does beside its shell, and the assignments for it (`jobs.interactive`).
    """
    dialect = registry.load_dialect(request.scheduler, cluster.dialect)
    environment, values = _environment(template_folders, dialect, cluster), _values(request, dialect)
    values["interactive"] = interactive
    if texts:
        values["assignments"] += f"\n{texts}"
    header, options = render_header(request, cluster, template_folders)
    words = [word for line in header.splitlines() for word in shlex.split(line)[1:] if line.startswith("#")]
    return _fill(environment, "shell.sh.j2", values), [*words, *options]


def render_header(request: Request, cluster: Cluster, template_folders: "Folders") -> tuple[str, list[str]]:
    """Return the header of a script, and the options that only the submission command accepts."""
    dialect = registry.load_dialect(request.scheduler, cluster.dialect)
    environment, values = _environment(template_folders, dialect, cluster), _values(request, dialect)
    return _fill(environment, f"scheduler-{request.scheduler}.sh.j2", values), _command_options(request, dialect)


def render_files(request: Request, cluster: Cluster, runs: Path) -> Mapping[str, str]:
    """Return name → text of the files that the scheduler reads beside the script.

    `RUN` stands for the run's id, `hk-run` for the job's name.
    `runs`: the folder of the future run directory; if nodes do not see it, a folder that they see replaces it.
    Raises RequestError as `Scheduler.files` does.
    """
    from hackathon.schedulers.base import Submission

    visible = [Path(folder) for folder in cluster.visible_from_nodes]
    base = (
        runs
        if not visible or any(runs.is_relative_to(folder) for folder in visible)
        else visible[0] / "PROJECT" / "runs"
    )
    run = base / "RUN"
    submission = Submission(run / "job.sh", run, "hk-run", run / "logs" / "scheduler.log")
    return registry.load(request.scheduler, request.dialect).files(submission, header(request))


def _values(request: Request, dialect: Dialect) -> dict[str, Any]:
    container_template = ""
    if request.image is not None and request.container is not None:
        from hackathon.jobs.containers import template_of

        container_template = template_of(request.container)
    return {
        "scheduler": request.scheduler,
        "launcher": request.launcher,
        "starter": request.starter,
        "mpi": request.mpi,
        "handed_on": False,
        "bound": request.binding is not None,
        "container": container_template,
        "requeue": bool(request.requeue),
        "address_suffix": bool(request.master_addr_suffix),
        "several_gpus": request.gpus_per_process > 1,
        "workers": _reads_tf_config(request),
        "joins_on_processors": _may_join_on_processors(request),
        "assignments": assignments(request, dialect.reserved_exit_codes),
        "directive": directives(request, dialect),
    }


def _fill(environment: "Environment", name: str, values: Mapping[str, Any]) -> str:
    import jinja2

    from hackathon.jobs.templates.sandbox import TooMuchError

    try:
        text = environment.get_template(name).render(values)
    except jinja2.TemplateNotFound as error:
        raise RequestError("jobs.template_missing", "there is no job template {name}", name=error.name) from None
    except jinja2.UndefinedError as error:
        raise RequestError(
            "jobs.template_undefined", "template {name}: {what}", name=name, what=error.message
        ) from None
    except jinja2.TemplateSyntaxError as error:
        raise RequestError(
            "jobs.template_syntax",
            "{file}:{line}: {what}",
            file=error.filename or name,
            line=error.lineno,
            what=error.message,
        ) from None
    except (TooMuchError, RecursionError) as error:
        raise RequestError(
            "jobs.template_endless",
            "template {name} does not end: {what}",
            hint="look for a template that includes or extends itself, and for long loops",
            name=name,
            what=error,
        ) from None
    except (jinja2.TemplateError, TypeError, ValueError, SyntaxError, MemoryError) as error:
        # Python's errors when a template compares a number and a text, or nests blocks too deeply
        raise RequestError(
            "jobs.template_failed", "template {name} cannot be rendered: {what}", name=name, what=error
        ) from None
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def assignments(request: Request, reserved_exit_codes: Iterable[int] = ()) -> str:
    """Return the block of bash assignments: only here do values enter the script.

    Every value is one word on one line (`shell_word`): no content of a parameter, note or name can act as shell code,
    or as a line for the scheduler. Lists become arrays. Raises RequestError for a NUL character or an invalid name of a
    variable.
    """
    for name in request.variables:
        if not _NAME.match(name):
            raise RequestError(
                "jobs.variable_name", "{name!r} is not a valid name of an environment variable", name=name
            )
    image_values: Mapping[str, str | list[str]] = {}
    if request.image is not None and request.container is not None:
        from hackathon.jobs.containers import assigned

        image_values = assigned(request.image, request.container)
    lines: list[Mapping[str, str | int | Iterable[str]]] = [
        {"HK_NAME": request.name},
        {
            "HK_NODES": request.nodes,
            "HK_PROCESSES": request.processes,
            "HK_PROCESSES_PER_NODE": request.processes_per_node,
            "HK_THREADS": request.threads,
            **({"HK_GPUS_PER_PROCESS": request.gpus_per_process} if request.gpus_per_process > 1 else {}),
            **({"HK_TF_WORKERS": 1} if _reads_tf_config(request) else {}),
        },
        {"HK_WALLTIME": request.walltime, "HK_STOP_BEFORE": request.stop_before, "HK_STOP_SIGNAL": request.signal},
        {"HK_LAUNCHER": request.launcher, "HK_MODE": request.mode or "", "HK_TELEMETRY": request.telemetry_seconds},
        {
            "HK_GROUP": request.group or "",
            **({"HK_ADDRESS_SUFFIX": request.master_addr_suffix} if request.master_addr_suffix else {}),
        },
        {"HK_SOURCE": request.source if request.in_place else "source", "HK_SCRATCH": request.scratch},
        {"HK_ENVIRONMENT": request.environment},
        *({name: words} for name, words in image_values.items()),
        {"HK_VARIABLES": [f"{name}={value}" for name, value in request.exported.items()]},
        {"HK_MPI_OPTIONS": request.mpi_options},
        *({name: words} for name, words in _binding(request).items()),
        {"HK_COMMAND": request.command},
    ]
    if codes := [str(code) for code in sorted(reserved_exit_codes)]:
        lines.append({"HK_RESERVED_EXIT_CODES": codes})
    return "\n".join(" ".join(f"{name}={_quoted(name, value)}" for name, value in line.items()) for line in lines)


def shell_values(values: Mapping[str, str]) -> str:
    """Return assignments of a shell, one a line. Raises RequestError for a NUL character."""
    return "\n".join(f"{name}={_quoted(name, value)}" for name, value in values.items())


def _reads_tf_config(request: Request) -> bool:
    """Return whether the user's own program joins its processes by TensorFlow's TF_CONFIG; a recipe makes its own."""
    return request.recipe is None and request.framework == "tensorflow"


def _may_join_on_processors(request: Request) -> bool:
    """Return whether the user's own program may train alone in each process unless the job says otherwise."""
    return request.recipe is None and not request.gpus_per_node and request.framework in (None, "torch")


def _binding(request: Request) -> "dict[str, list[str]]":
    """Return the options that bind ranks to cores, by name of the script's array."""
    if request.binding is None:
        return {}
    from hackathon.jobs import binding

    return binding.arrays(request)


_BY_LINES = ("HK_ENVIRONMENT", "HK_VARIABLES")
"""Lists with one entry per line, for reading and editing."""
_WIDTH = 112
"""Most letters on a line of the other lists, unless one word is longer."""


def _quoted(name: str, value: "str | int | Iterable[str]") -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        if "\0" in value:
            raise RequestError("jobs.value_nul", "{name} contains a NUL character", name=name)
        return shell_word(value)
    words = [_quoted(name, part) for part in value]
    if name in _BY_LINES:
        lines = words
    else:
        lines = []
        for word in words:
            if lines and len(lines[-1]) + len(word) < _WIDTH:
                lines[-1] += f" {word}"
            else:
                lines.append(word)
    if len(lines) > 1:
        return "".join(["(\n", *(f"  {line}\n" for line in lines), ")"])
    return f"({''.join(lines)})"


class HeaderValues(dict[str, Any]):
    """The header's values by name; a name that the request does not have is empty, so that templates can test it."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name, "")


def header(request: Request) -> Header:
    """Return the values of a request that a scheduler may use."""
    return Header(
        queue=request.queue,
        group=request.group,
        reservation=request.reservation,
        nodes=request.nodes,
        processes=request.processes,
        processes_per_node=request.processes_per_node,
        threads=request.threads,
        gpus_per_node=request.gpus_wanted,
        node_gpus=request.gpus_per_node,
        walltime=request.walltime,
        memory=request.memory,
        partition=request.partition,
        qos=request.qos,
        constraint=request.constraint,
    )


def _command_options(request: Request, dialect: Dialect) -> list[str]:
    """Return the options that only the submission command accepts. Raises RequestError unless they are tokens."""
    words = dialect.command_options(header(request))
    for word in words:
        if not re.fullmatch(TOKEN, word):
            raise RequestError(
                "jobs.header_value",
                "{name} {value!r} is not allowed in a job script's header (it must match {pattern})",
                name="command_options",
                value=word,
                pattern=TOKEN,
            )
    return words


def directives(request: Request, dialect: Dialect) -> HeaderValues:
    """Return the values for the header, each a token without a meaning for a shell.

    Raises RequestError for a value that is not such a token.
    """
    result = HeaderValues()
    _command_options(request, dialect)
    for name, value in dialect.directives(header(request)).items():
        if value in (None, ""):
            continue
        pattern = dialect.patterns.get(name, TOKEN)
        if not re.fullmatch(pattern, str(value)):
            raise RequestError(
                "jobs.header_value",
                "{name} {value!r} is not allowed in a job script's header (it must match {pattern})",
                name=name,
                value=value,
                pattern=pattern,
            )
        result[name] = value
    result["task_variables"] = "|".join(dict.fromkeys((*TASK_VARIABLES, *dialect.task_variables)))
    # the beginning of the names of a job's variables: of SLURM_JOB_ID all that begin with SLURM_
    result["job_variables"] = dialect.id_variable.partition("_")[0] if dialect.id_variable else "HACKATHON"
    result["sends_xcpu"] = dialect.sends_xcpu
    result["reserved_exit_codes"] = bool(dialect.reserved_exit_codes)
    result["mpi_from_job"] = dialect.mpi_from_job
    result["own_account"] = dialect.own_account
    for option in request.directives:
        if not _OPTION.match(option):
            raise RequestError(
                "jobs.header_value",
                "{name} {value!r} is not allowed in a job script's header (it must match {pattern})",
                name="directives",
                value=option,
                pattern=_OPTION.pattern,
            )
    result["options"] = [*requeue_option(request, dialect), *request.directives]
    return result


def requeue_option(request: Request, dialect: Dialect) -> list[str]:
    """Return the header's option by `requeue`; none if nothing was requested, or the scheduler has none (`check`)."""
    if request.requeue is None or dialect.requeue_options is None:
        return []
    return [dialect.requeue_options[0 if request.requeue else 1]]


_OF_SCHEDULER = {"scheduler-": "header.sh.j2", "identity-": "identity.sh.j2", "hosts-": "hosts.sh.j2"}
"""Prefix of a scheduler's template (`scheduler-NAME.sh.j2`) → its file in the scheduler's folder."""


def _shipped_as(template: str, dialect: Dialect) -> Iterator[Path]:
    """Yield the possible paths of a template in the scheduler's folders and in the toolkit."""
    for beginning, name in _OF_SCHEDULER.items():
        if template.startswith(beginning):
            yield from (folder / name for folder in dialect.template_folders())
    yield shipped("templates", "jobs") / template


def templates_of_package(name: str, cluster: str) -> Path:
    """Return the folder of the job templates of an installed package that a cluster takes by name.

    Raises RequestError if no package has them, and for a broken package.
    """
    from hackathon.config import plug_ins

    plug_in = plug_ins.find("templates", name)
    if plug_in is None:
        raise RequestError(
            "plug_ins.no_templates",
            "Cluster {cluster} takes its job templates from {name}, which no installed package has.",
            hint="Install the package that brings them, or take `templates:` out of the profile. `hackathon "
            "plugins` lists what is installed.",
            name=name,
            cluster=cluster,
        )
    return plug_ins.file_of(plug_in)


def check_templates(folder: Path) -> None:
    """Check that the job templates in a folder are allowed. Raises RequestError, also if there are none."""
    from hackathon.jobs.templates.lint import lint

    environment = _environment((), Dialect())
    files = sorted(folder.glob("*.sh.j2"))
    if not files:
        raise RequestError("jobs.template_missing", "there is no job template {name}", name=f"{folder}/*.sh.j2")
    for path in files:
        lint(environment, path.name, _template_text(path, None), str(path))


def _environment(template_folders: "Folders", dialect: Dialect, cluster: Cluster | None = None) -> "Environment":
    from jinja2 import BaseLoader, TemplateNotFound

    from hackathon.jobs.templates.sandbox import TemplateSandbox
    from hackathon.text.paths import user_cache

    folders = template_folders if isinstance(template_folders, Mapping) else dict.fromkeys(template_folders)
    trusted_by_folder = {folder / "jobs": trusted for folder, trusted in folders.items()}
    if cluster is not None and cluster.templates is not None:
        trusted_by_folder.setdefault(templates_of_package(cluster.templates, cluster.name), None)

    class Loader(BaseLoader):
        """Finds templates: own folders first, then the scheduler's and the shipped ones; `shipped/NAME` skips the own
        ones.

        Only shipped templates are not linted.
        """

        def get_source(self, environment: "Environment", template: str) -> tuple[str, str, Any]:
            name = template.removeprefix("shipped/")
            own = (
                {}
                if template.startswith("shipped/")
                else {folder / name: trusted_by_folder[folder] for folder in trusted_by_folder}
            )
            for path, trusted in (own | dict.fromkeys(_shipped_as(name, dialect))).items():
                if "/" not in name and path.is_file():
                    text = _template_text(path, trusted)
                    if not is_shipped(path):
                        from hackathon.jobs.templates.lint import lint

                        lint(environment, template, text, str(path))
                    return text, str(path), None
            raise TemplateNotFound(template)

    return TemplateSandbox(Loader(), user_cache() / "templates")


def _template_text(path: Path, trusted: "Trusted | None") -> str:
    """Return a template's text; the file may belong to another account. Raises RequestError, ForeignError."""
    try:
        raw = _read(path) if trusted is None else _read_trusted(path, trusted)
        if len(raw) > _LARGEST:
            raise RequestError(
                "jobs.template_large",
                "{file} is larger than {limit}; a job template cannot be",
                file=path,
                limit=format_size(_LARGEST),
            )
        return raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError("jobs.template_unreadable", "{file} cannot be read: {what}", file=path, what=error) from None


def _read(path: Path) -> bytes:
    with open_regular(path) as stream:
        return stream.read(_LARGEST + 1)


def _read_trusted(path: Path, trusted: "Trusted") -> bytes:
    """Return the content of a file; its owner and writers are checked on the descriptor that is read."""
    from hackathon.access.ownership import ForeignFile, look
    from hackathon.config.trust import ForeignError

    content = look(path, _LARGEST + 1)
    if strangers := trusted.strangers(content.writers):
        raise ForeignError(ForeignFile(path, content.owner, strangers))
    if content.raw is None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return content.raw
