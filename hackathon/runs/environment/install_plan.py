"""Plan the build of a recipe's Python environment: each command as a line that a person can type."""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config import plug_ins
from hackathon.config.recipe import InstallStep
from hackathon.runs.environment.requirement_lines import beyond_packages, is_plain
from hackathon.text.errors import RequestError
from hackathon.text.paths import shipped

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster

USUAL = (InstallStep(requirements="requirements.txt"),)
"""How an environment is built when the recipe has no `install`."""
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PIP_ROOT", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
"""Variables that would make an installer use other paths (PIP_ROOT was set on a real login node)."""
_ABOUT = "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.implementation.cache_tag, sys.base_prefix)"


@dataclass(frozen=True)
class BuildCommand:
    """One command of a build."""

    argv: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The command as a person would type it."""
        return " ".join([*_assignments(self.variables), shlex.join(self.argv)])


@dataclass(frozen=True)
class InstallPlan:
    """All commands of a build."""

    name: str
    """The recipe's or project's name."""
    path: Path
    """The environment's folder."""
    variant: str
    digest: str
    """Equal digests mean equal requests."""
    variables: dict[str, str]
    """Variables of every command."""
    commands: tuple[BuildCommand, ...]
    freeze: BuildCommand
    """Prints the installed packages."""

    @property
    def lines(self) -> list[str]:
        """The build as lines that a person can type, in order."""
        exported = [*_assignments(self.variables), f"PATH={shlex.quote(str(self.path))}/bin:$PATH"]
        first = f"export {' '.join(exported)}; unset {' '.join(_FOREIGN)}"
        return [first, *(command.line for command in self.commands)]

    def environ(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the build's commands: the caller's, without variables that mislead an installer."""
        inherited = {name: value for name, value in environment.items() if name not in _FOREIGN}
        return {
            **inherited,
            **self.variables,
            "PATH": f"{self.path}/bin{os.pathsep}{environment.get('PATH', os.defpath)}",
        }


def _assignments(variables: Mapping[str, str]) -> list[str]:
    return [f"{name}={shlex.quote(value)}" for name, value in variables.items()]


def plan(
    name: str,
    folder: Path,
    install: Sequence[InstallStep],
    *,
    envs: Path,
    variant: str,
    cluster: "Cluster",
    python: str | None = None,
    trusted: bool = False,
    locked: bool = False,
) -> InstallPlan:
    """Return the plan for building the environment `<envs>/<name>-<variant>`; nothing is written.

    `folder` holds the requirements; `python` is the interpreter (default: this one). `uv` installs if it is on PATH,
    else `python -m venv` and pip. `locked`: install exactly the files whose hashes are in
    `requirements-<platform>.lock`. Raises RequestError: a requirements file is missing, the interpreter does not run,
    compute nodes do not see the environment or its Python, a package is an option, there is no lock file for this
    Python and machine; and, unless `trusted`, a file of another user (not root) names sources of packages.
    """
    interpreter = shutil.which(python) if python else sys.executable
    if not interpreter:
        raise RequestError(
            "environments.no_python",
            "Python {python!r} was not found",
            hint="--python takes a command or a path",
            python=python,
        )
    interpreter = os.path.abspath(interpreter)  # noqa: PTH100 — builds run elsewhere; links make a venv what it is
    version, base = _about(interpreter)
    path = envs / f"{name}-{variant}"
    _must_be_visible(path, base, cluster)
    uv = shutil.which("uv")
    lock = f"{os.uname().sysname.lower()}-{os.uname().machine}-{version.split()[1]}.lock" if locked else ""
    for step in install or USUAL:
        _must_not_steer(step, folder, variant, lock, trusted=trusted)
    steps = [_Step(step, folder, path, variant, lock) for step in install or USUAL]
    contents = {"python": version, "machine": os.uname().machine, "steps": [step.wanted for step in steps]}
    inside = str(path / "bin" / "python")
    make = (uv, "venv", "--seed", "--python", interpreter) if uv else (interpreter, "-I", "-m", "venv")
    installer = (uv, "pip", "install", "--python", inside) if uv else (inside, "-I", "-m", "pip", "install")
    freeze = (uv, "pip", "freeze", "--python", inside) if uv else (inside, "-I", "-m", "pip", "freeze", "--all")
    return InstallPlan(
        name=name,
        path=path,
        variant=variant,
        digest=hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest(),
        variables={"VIRTUAL_ENV": str(path), **_caches(envs, cluster), **(_UV_AS_PIP if uv else {})},
        commands=(
            BuildCommand((*make, str(path))),
            *(BuildCommand((*installer, *step.words), step.variables) for step in steps),
        ),
        freeze=BuildCommand(freeze),
    )


_UV_AS_PIP = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
"""pip's behaviour with several indexes (`--extra-index-url` of a requirements file): the best version wins."""


class _Step:
    """One call of the installer: its arguments, its variables, and the inputs that decide whether to repeat it."""

    def __init__(self, step: InstallStep, folder: Path, path: Path, variant: str, lock: str = "") -> None:
        if lock and step.packages:
            raise RequestError(
                "environments.not_locked",
                "no hashes are recorded for {packages}, which is compiled here",
                hint="Build without --locked.",
                packages=", ".join(step.packages),
            )
        self.words: list[str] = []
        self.wanted: dict[str, Any] = asdict(step)
        if not step.build_isolation:
            self.words.append("--no-build-isolation")
        if step.no_dependencies:
            self.words.append("--no-deps")
        for package in step.from_source:
            self.words += ["--no-binary", package]
        if step.requirements is not None:
            file = _requirements(folder, step.requirements, variant)
            if lock:
                file = file.with_name(f"{file.stem}-{lock}")
                if not file.is_file():
                    raise RequestError(
                        "environments.no_lock",
                        "{file} does not exist: no hashes are recorded for this Python and machine",
                        hint="Choose another Python with --python, or build without --locked.",
                        file=file,
                    )
                self.words.append("--require-hashes")
            self.wanted["requirements"] = _text(file)
            self.words += ["-r", str(file)]
        self.words += step.packages
        self.variables = {
            name: text.replace("{recipe}", str(folder)).replace("{env}", str(path))
            for name, text in step.variables.items()
        }
        # a file of the recipe that a variable names (a CMake toolchain) affects the result as well
        files = [Path(value) for name, value in self.variables.items() if "{recipe}" in step.variables[name]]
        self.wanted["files"] = {file.name: _text(file) for file in files if file.is_file()}


def _must_not_steer(step: InstallStep, folder: Path, variant: str, lock: str, *, trusted: bool) -> None:
    """Raise RequestError for options among the packages, and for sources of packages in another user's files."""
    for package in (*step.packages, *step.from_source):
        if package.startswith("-"):
            raise RequestError(
                "environments.option",
                "the recipe lists {package!r} as a package, but it is an option of the installer",
                hint="put options into the requirements file",
                package=package,
            )
    if trusted or folder.resolve().is_relative_to(shipped("recipes").resolve()) or plug_ins.owner(folder) is not None:
        return
    recipe = folder / "recipe.yaml"
    if recipe.is_file() and not _is_own(recipe):
        words = [*step.variables, *(package for package in step.packages if not is_plain(package))]
        if words:
            raise RequestError(
                "environments.steered_recipe",
                "{file}: {what} in `install` steers what is built, and the file is not yours",
                hint="read the file; if you trust it, copy the folder (`cp -r`) and build from the copy",
                file=recipe,
                what=", ".join(words),
            )
    if step.requirements is not None:
        file = _requirements(folder, step.requirements, variant)
        for path in (file, file.with_name(f"{file.stem}-{lock}")) if lock else (file,):
            for number, line in beyond_packages(_text(path)) if path.is_file() and not _is_own(path) else ():
                raise RequestError(
                    "environments.steered",
                    "{file}, line {line}: {what!r} says where code comes from, and the file is not yours",
                    hint="read the file; if you trust it, copy the folder (`cp -r`) and build from the copy",
                    file=path,
                    line=number,
                    what=line,
                )


def _is_own(file: Path) -> bool:
    return file.stat().st_uid in (0, os.geteuid())


def _requirements(folder: Path, name: str, variant: str) -> Path:
    file = folder / name
    special = file.with_name(f"{file.stem}-{variant}{file.suffix}")
    for path in (special, file):
        if path.is_file():
            return path
    raise RequestError(
        "environments.no_requirements",
        "{file} does not exist",
        hint="list the required packages there, one package==version per line",
        file=file,
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise RequestError(
            "environments.unreadable", "{file} cannot be read: {what}", file=file, what=error.strerror
        ) from error


def _about(interpreter: str) -> tuple[str, str]:
    """Return (version and ABI, installation folder) of a Python. Raises RequestError when it does not run."""
    try:
        answer = subprocess.run(
            [interpreter, "-I", "-c", _ABOUT], capture_output=True, text=True, timeout=120, check=True
        )
        version, tag, base = answer.stdout.strip().split(" ", 2)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise RequestError(
            "environments.bad_python", "cannot run Python {python}: {what}", python=interpreter, what=error
        ) from error
    return f"{version} {tag}", base


def visible(path: Path | str, cluster: "Cluster") -> bool:
    """Return whether compute nodes see a path; also True on a machine outside that cluster."""
    folders = [folder for folder in cluster.visible_from_nodes if os.path.isdir(folder)]  # noqa: PTH112
    real = os.path.realpath(path)
    return not folders or any(
        os.path.commonpath([real, os.path.realpath(folder)]) == os.path.realpath(folder) for folder in folders
    )


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _must_be_visible(path: Path, base: str, cluster: "Cluster") -> None:
    listing = ", ".join(cluster.visible_from_nodes)
    if not visible(path, cluster):
        raise RequestError(
            "environments.not_visible",
            "compute nodes of {cluster} cannot see {path}; they see {seen}",
            hint="work below one of these, or set HACKATHON_ENVS to a folder there",
            path=path,
            seen=listing,
            cluster=cluster.name,
        )
    home = _home()
    # /usr and /opt are local to each node; a Python below a home that nodes cannot see is not visible
    inside = home is not None and os.path.commonpath([os.path.realpath(base), os.path.realpath(home)]) == str(
        home.resolve()
    )
    if inside and not visible(base, cluster):
        raise RequestError(
            "environments.python_not_visible",
            "compute nodes of {cluster} cannot see this Python ({python}); they see {seen}",
            hint="choose another one with --python, for example /usr/bin/python3 or the Python of a module",
            python=base,
            seen=listing,
            cluster=cluster.name,
        )


def _caches(envs: Path, cluster: "Cluster") -> dict[str, str]:
    """Return variables that put caches beside the environments, if the nodes do not see the home."""
    home = _home()
    if home is not None and visible(home, cluster):
        return {}
    cache = str(envs / ".cache")
    return {"XDG_CACHE_HOME": cache, "PIP_CACHE_DIR": f"{cache}/pip", "UV_CACHE_DIR": f"{cache}/uv"}
