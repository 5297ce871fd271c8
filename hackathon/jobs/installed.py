"""Which packages the Python of a job can import, as far as the login node can tell.

Only names of files are looked at, and the files that add folders to Python's path.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.jobs.resolve import BUILT
from hackathon.schedulers import registry, runner

if TYPE_CHECKING:
    from hackathon.jobs.request import Request

_HARMLESS = ("distutils-precedence.pth", "_virtualenv.pth")
"""Files that run code at Python's start and add no packages."""


@dataclass(frozen=True)
class InstalledPackages:
    """All that an environment can import, but for the standard library."""

    environment: Path
    names: frozenset[str]


def installed_packages(request: "Request") -> InstalledPackages | None:
    """Return the packages of the environment from which a job of this request takes its `python`.

    None where nobody can know: lines of the job, or PYTHONPATH, choose others; the scheduler hands no PATH on; the
    Python belongs to the system; a package was installed in a way that runs code to find it.
    """
    environment = runner.child_environment(submission=True)
    folder = _environment(request, environment.get("PATH"))
    if folder is None or "PYTHONPATH" in environment or "PYTHONPATH" in request.variables:
        return None
    settings = _text(folder / "pyvenv.cfg")
    if settings is None and not (folder / "conda-meta").is_dir():
        return None
    if settings is not None and "include-system-site-packages = true" in settings.lower():
        return None
    folders = [*folder.glob("lib/python3*/site-packages"), *folder.glob("lib64/python3*/site-packages")]
    if settings is None:  # conda sees the user's own packages, a virtual environment does not
        folders += Path(environment.get("HOME", "/")).glob(".local/lib/python3*/site-packages")
    names: set[str] = set()
    waiting, visited = folders, set[Path]()
    while waiting:
        site = waiting.pop()
        if site in visited:
            continue
        visited.add(site)
        try:
            entries = os.listdir(site)  # noqa: PTH208 — names are all that is needed
        except OSError:
            continue
        names |= {entry.partition(".")[0] for entry in entries}
        for entry in entries:
            if entry.endswith(".pth") and entry not in _HARMLESS:
                text = _text(site / entry)
                if text is None or any(line.startswith(("import ", "import\t")) for line in text.splitlines()):
                    return None
                lines = (line.strip() for line in text.splitlines())
                waiting += [site / line for line in lines if line and not line.startswith("#")]
    return InstalledPackages(folder, frozenset(names)) if names else None


def _environment(request: "Request", path: str | None) -> Path | None:
    """Return the folder of the environment whose `bin/python` is the first that the job finds; `path` as submitted."""
    if request.environment:
        built = request.python_environment
        origins = [request.origins.get(f"environment.{number}") for number in range(len(request.environment))]
        return Path(built["path"]) if built is not None and set(origins) == {BUILT} else None
    kind = registry.dialect_type(request.scheduler)
    if kind is None or not kind.inherits_path:
        return None
    python = shutil.which("python", path=path)
    return Path(python).parent.parent if python else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
