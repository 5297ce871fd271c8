"""Which packages the Python of a job can import, as far as the login node shows.

Only names of files are read, and the files that add folders to Python's path.
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
"""Files that run code when Python starts but add no packages."""


@dataclass(frozen=True)
class InstalledPackages:
    """All packages that an environment can import, without the standard library."""

    environment: Path
    names: frozenset[str]


def installed_packages(request: "Request") -> InstalledPackages | None:
    """Return the packages of the environment whose `python` a job of this request uses.

    None if that is unknown: it runs in an image; lines of the job or PYTHONPATH choose others; the scheduler does not
    pass PATH on; the Python belongs to the system; a package needs code to be found.
    """
    if request.image is not None:
        return None
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
    """Return the environment whose `bin/python` the job finds first; `path`: PATH at submission."""
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
