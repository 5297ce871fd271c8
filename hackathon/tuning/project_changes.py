"""Write settings into a project's file; its comments and its order stay."""

from collections.abc import Mapping
from pathlib import Path

from hackathon.access.ownership import foreign, own
from hackathon.config.load import PROJECT_FILE, load_project
from hackathon.config.problems import ConfigError
from hackathon.config.project import Project
from hackathon.config.recipe import Parameter
from hackathon.config.records import Scalar
from hackathon.config.yaml_edit import NotEditableError, set_value
from hackathon.jobs.script import in_double_quotes
from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular, write_whole

MAXIMUM = 1 << 20
SHAPE = ("job.nodes", "job.processes", "job.processes_per_node")
"""Settings that are keys of the project itself."""


def changed(folder: Path, settings: Mapping[str, Scalar]) -> tuple[Path, str, str]:
    """Return the project's file, its text, and its text with settings: `NAME`, `env.VARIABLE` or `job.nodes` → value.

    Raises RequestError without a file, when another account controls it or its path, and when the new text would not be
    a project with these settings.
    """
    path = folder / PROJECT_FILE
    if not path.is_file():
        raise RequestError(
            "speedup.no_project",
            "there is no project.yaml in {folder} to write to",
            hint="Create one: hackathon init",
            folder=folder,
        )
    if path.is_symlink() or foreign(path, own()) is not None:
        raise RequestError(
            "speedup.not_own",
            "{path} belongs to somebody else, is a link, or can be replaced by others: it is not written",
            path=path,
        )
    with open_regular(path) as stream:
        raw = stream.read(MAXIMUM)
    project = load_project(folder, raw)
    text = before = raw.decode("utf-8")
    try:
        for name, value in settings.items():
            text = set_value(text, _place(project, name), _written(name, value))
        edited = load_project(folder, text.encode())
    except (NotEditableError, ConfigError):
        raise RequestError(
            "speedup.not_writable", "{path} cannot be changed automatically: set the values by hand", path=path
        ) from None
    if not all(_told(edited, name) == _written(name, value) for name, value in settings.items()):
        raise RequestError(
            "speedup.not_writable", "{path} cannot be changed automatically: set the values by hand", path=path
        )
    return path, before, text


def write(path: Path, before: str, after: str) -> None:
    """Write the new text, unless the file has changed meanwhile. Raises RequestError and OSError."""
    with open_regular(path) as stream:
        if stream.read(MAXIMUM).decode("utf-8", "replace") != before:
            raise RequestError(
                "speedup.changed_meanwhile", "{path} was changed in the meantime: nothing was written", path=path
            )
    mode = path.stat().st_mode & 0o777
    write_whole(path, after, mode)
    path.chmod(mode)  # the umask may have removed bits


def _place(project: Project, name: str) -> tuple[str, ...]:
    if name in SHAPE:
        return (name.removeprefix("job."),)
    if name.startswith("env."):
        return "variables", name.removeprefix("env.")
    bare = name.removeprefix("parameters.")
    declares = project.recipe is None and isinstance(project.parameters.get(bare), Parameter)
    return ("parameters", bare, "default") if declares else ("parameters", bare)


def _written(name: str, value: Scalar) -> Scalar:
    return in_double_quotes(str(value)) if name.startswith("env.") else value


def _told(project: Project, name: str) -> object:
    if name in SHAPE:
        return getattr(project, name.removeprefix("job."))
    if name.startswith("env."):
        return project.variables.get(name.removeprefix("env."))
    parameter = project.parameters.get(name.removeprefix("parameters."))
    return parameter.default if isinstance(parameter, Parameter) else parameter
