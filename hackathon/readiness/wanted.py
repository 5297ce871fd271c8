"""The needs of a program on a compute node: the packages that it imports, and files of its data to check there."""

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.jobs.data import FOLDER, missing, record_of
from hackathon.readiness.job import seen

if TYPE_CHECKING:
    from hackathon.config.recipe import Data
    from hackathon.jobs.resolve import Sources

MOST_MODULES, MOST_FILES = 60, 64
"""The most packages, and data files, that one job checks."""
OF_EACH = 8
"""Files of one data set that are checked on the node."""
HASHED = 2_000_000_000
"""Bytes of data that are hashed completely on the login node; of more data, sizes and samples are compared."""
_PROGRAMS = 200
_LARGEST = 2_000_000


@dataclass(frozen=True)
class ProbeTask:
    """The job's task."""

    modules: tuple[str, ...] = ()
    files: dict[str, "list[Any] | dict[str, str]"] = field(default_factory=dict)
    """Path → [size, sample] as this machine reads the file, or the error."""

    def to_json(self) -> dict[str, Any]:
        """Return the task as JSON values."""
        return asdict(self)


def wanted_of(sources: "Sources", entries: "Sequence[Data]") -> ProbeTask:
    """Return the needs of a project's job; a data set that is missing or incomplete adds no files."""
    return ProbeTask(modules_of(sources), {str(path): seen(str(path)) for path in data_files(sources, entries)})


def modules_of(sources: "Sources") -> tuple[str, ...]:
    """Return the packages that a program imports at its start, its framework first, without the standard library."""
    recipe, project = sources.recipe, sources.project
    framework = recipe.framework if recipe else project.framework if project else None
    modules = dict.fromkeys([framework] if framework and framework != "none" and framework.isidentifier() else [])
    for program in _programs(sources):
        modules.update(dict.fromkeys(_imports(program, sources.folder, sources.shared.values())))
    return tuple(modules)[:MOST_MODULES]


def data_files(sources: "Sources", entries: "Sequence[Data]") -> list[Path]:
    """Return the files of each data set to check: the first, the last, the largest, and some between."""
    folder = sources.runs.parent / FOLDER
    paths: list[Path] = []
    for entry in entries:
        if missing(folder, [asdict(entry)]):
            continue
        files = [file for file in (record_of(folder, entry.name) or {})["files"] if _is_file(file)]
        step = max(1, -(-len(files) // (OF_EACH - 2)))
        chosen = [*files[::step], *files[-1:], *sorted(files, key=lambda file: -file["size"])[:1]]
        paths += dict.fromkeys(folder / file["path"] for file in chosen)
    return paths[:MOST_FILES]


def _is_file(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("path"), str) and isinstance(value.get("size"), int)


def _programs(sources: "Sources") -> list[Path]:
    if sources.recipe is not None:
        return [sources.folder / sources.recipe.entry]
    assert sources.project is not None and sources.project.command is not None
    words = sources.project.command.split()
    return [sources.folder / word for word in words if word.endswith(".py") and (sources.folder / word).is_file()]


def _imports(program: Path, top: Path, shared: Collection[Path]) -> Iterator[str]:
    """Yield the packages that a program, the modules beside it and those it shares import at their start.

    An import in a `try` or a function is optional: a program that can do without a package looks like that.
    """
    waiting, visited = [program], {program}
    while waiting and len(visited) < _PROGRAMS:
        file = waiting.pop(0)
        try:
            if file.stat().st_size > _LARGEST:
                continue
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        for name in _named(tree):
            root = name.partition(".")[0]
            own = [path for folder in (program.parent, top) for path in _local(folder, name)]
            own = own or [path for path in shared if path.name == f"{root}.py"]
            if own:
                fresh = [path for path in own if path not in visited]
                visited.update(fresh)
                waiting += fresh
            elif root not in sys.stdlib_module_names and root != "hackathon_runtime":
                yield root


def _named(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _local(folder: Path, name: str) -> list[Path]:
    """Return the files in the program's own folder that a module's name can mean."""
    root = folder / name.partition(".")[0]
    target = folder.joinpath(*name.split("."))
    options = (root.with_name(f"{root.name}.py"), target.with_name(f"{target.name}.py"), target / "__init__.py")
    files = [path for path in dict.fromkeys(options) if path.is_file()]
    return files or ([root / "__init__.py"] if root.is_dir() and any(root.glob("*.py")) else [])
