"""Python environments of recipes: where they are, and which one a job uses. `runs.environments` builds them."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.text.files import read_json
from hackathon.text.light_dataclass import dataclass

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

VARIANTS = ("cpu", "cuda")
RECORD = "env.json"
"""Written last when an environment is built: a folder without it is not a complete environment."""
FOLDER_VARIABLE = "HACKATHON_ENVS"


@dataclass(frozen=True)
class PythonEnvironment:
    """A complete environment that `hackathon env create` built."""

    path: Path
    variant: str
    digest: str
    """Digest of the specification: requirements, options of the installer, Python's version."""
    built: str
    """Local time of the build."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The shell line that puts its programs first."""
        path = shlex.quote(str(self.path))
        return (f"export VIRTUAL_ENV={path} PATH={path}/bin:$PATH; unset PYTHONHOME",)

    @property
    def record(self) -> dict[str, str]:
        """The fields that a run records."""
        return {"path": str(self.path), "variant": self.variant, "digest": self.digest, "built": self.built}


def environments_folder(environment: Mapping[str, str], base: Path) -> Path:
    """Return the folder of environments: `$HACKATHON_ENVS`, else `envs` in `base` (the project or the current folder).

    The path is absolute; links are not resolved, as compute nodes may know only one of the names.
    """
    named = environment.get(FOLDER_VARIABLE)
    return Path(os.path.abspath(named)) if named else base.absolute() / "envs"  # noqa: PTH100


def read_environment(path: Path) -> PythonEnvironment | None:
    """Return the complete environment in a folder, or None."""
    value: Any = read_json(path / RECORD)
    if not isinstance(value, dict):
        return None
    return PythonEnvironment(path, *(str(value.get(name, "")) for name in ("variant", "digest", "built")))


def find_environment(name: str, folder: Path, *, gpus: int) -> PythonEnvironment | None:
    """Return the environment of a recipe or project; on nodes with GPUs the CUDA variant is preferred."""
    for variant in reversed(VARIANTS) if gpus else VARIANTS:
        environment = read_environment(folder / f"{name}-{variant}")
        if environment is not None:
            return environment
    return None


def lacks_framework(request: "Request", environment: Mapping[str, str]) -> str | None:
    """Return the virtual environment of a job if it lacks the recipe's framework, else None.

    None also if that is unknown: the job's own lines choose a Python, the job does not use the command's Python, that
    Python is outside a virtual environment, or it sees further packages. Only names of folders are read.
    """
    import sys

    from hackathon.schedulers.runner import typed_by_path

    if request.recipe is None or request.framework in (None, "none") or request.environment or request.image:
        return None
    own = "" if environment.get("CONDA_PREFIX") or not typed_by_path() else sys.prefix
    chosen = environment.get("VIRTUAL_ENV") or own
    try:
        settings = (Path(chosen) / "pyvenv.cfg").read_text(errors="replace").lower()
    except OSError:
        return None
    if not chosen or "include-system-site-packages = true" in settings or environment.get("PYTHONPATH"):
        return None
    package_folders = list(Path(chosen).glob("lib/python3*/site-packages"))
    if not package_folders or any((packages / request.framework).is_dir() for packages in package_folders):
        return None
    return chosen
