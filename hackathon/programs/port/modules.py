"""The own modules of a program: which files they are, and what their names mean in each of them."""

import os
import re
import sys
from pathlib import Path

import libcst as cst

from hackathon.programs.port.names import dotted
from hackathon.programs.port.source import Binding, SingleGpuProgram, read_program
from hackathon.runs.source.program_text import imports, inside, is_runtime, own_file, program_files
from hackathon.text.errors import RequestError

FILES, BYTES = 60, 400_000
"""Limits of what is parsed besides the started file."""
ABOVE = 3
"""Folders above a program in which its package may be."""
_OF_TRAINING = re.compile(
    r"backward\(|\.fit\(|DataLoader|optim|print\(|open\(|download|load_data|save|\.load\(|no_grad|tqdm|import|BatchNorm"
)
"""Words of files in which something may have to change."""
_JOINS = re.compile(r"\b(?:init_process_group|DistributedDataParallel)\(")


def read_project(folder: Path, entry: str, shown: Path | None = None) -> SingleGpuProgram:
    """Return a program with its own modules: the started file below a folder, and what it imports from there.

    `shown`: the folder as messages name it. Raises RequestError if the started file cannot be read; modules that cannot
    be read are left out.
    """
    at = shown if shown is not None else folder
    program = read_program(_named(at, entry))
    files = {entry: program}
    left = BYTES
    for part in program_files(folder, entry):
        size = len(part.text.encode("utf-8", "replace"))
        if (
            part.name in files
            or is_runtime(part.name)
            or not _OF_TRAINING.search(part.text)
            or len(files) > FILES
            or size > left
        ):
            if part.name not in files and _JOINS.search(part.text):
                program.joined_in = part.name
            continue
        try:
            files[part.name] = read_program(_named(at, part.name))
        except RequestError:
            continue
        left -= size
    for name, file in files.items():
        _bind(folder, name, file, files)
    return program.with_modules(tuple(file for name, file in files.items() if name != entry))


def _named(folder: Path, name: str) -> Path:
    """Return a file as messages name it: without a way up out of the current folder and back into it."""
    path = folder / name
    return Path(os.path.relpath(path)) if folder.parts[:1] == ("..",) else path


def package_folder(folder: Path, entry: Path) -> Path:
    """Return the folder of a started file's own modules: `folder`, or one above it with a package that it imports.

    A folder above counts if Python can find its packages: it has a file to install them, or the program changes
    `sys.path`.
    """
    name = str(entry.relative_to(folder))
    started = next(program_files(folder, name))
    beside = name.rpartition("/")[0]
    roots = [module.partition(".")[0] for own, module in imports(folder, started) if not own]
    unknown = [root for root in dict.fromkeys(roots) if root not in sys.stdlib_module_names]
    if any(own_file(folder, beside, root) for root in unknown):
        return folder
    for above in list(folder.parents)[:ABOVE]:
        installs = any((above / file).is_file() for file in ("pyproject.toml", "setup.py", "setup.cfg"))
        packages = [root for root in unknown if inside(above, f"{root}/__init__.py")]
        if packages and (installs or "sys.path" in started.text):
            return above
        if (above / ".git").exists():
            break
    return folder


def _bind(folder: Path, name: str, file: SingleGpuProgram, files: dict[str, SingleGpuProgram]) -> None:
    """Note which names of a file are modules of the program, or come from them."""
    beside = name.rpartition("/")[0]
    stars = []
    for node in file.find(file.module, cst.Import):
        for alias in node.names:
            module = dotted(alias.name) or ""
            other = files.get(own_file(folder, beside, module))
            short = dotted(alias.asname.name) if alias.asname else module
            if other is not None and short:
                file.bindings[short] = Binding(other)
    for statement in file.find(file.module, cst.ImportFrom):
        module = dotted(statement.module) or "" if statement.module is not None else ""
        level = len(statement.relative)
        start = "/".join(beside.split("/")[: len(beside.split("/")) - level + 1]) if level else beside
        origin = files.get(_file(folder, start, module, level))
        if isinstance(statement.names, cst.ImportStar):
            stars += [origin] if origin is not None else []
            continue
        for alias in statement.names:
            last = dotted(alias.name) or ""
            short = (dotted(alias.asname.name) if alias.asname else None) or last
            inner = files.get(_file(folder, start, f"{module}.{last}".strip("."), level))
            if inner is not None:
                file.bindings[short] = Binding(inner)
            elif origin is not None:
                file.bindings[short] = Binding(origin, last)
    file.stars = tuple(stars)


def _file(folder: Path, start: str, module: str, level: int) -> str:
    """Return the file of a module; a relative import looks only where it points to."""
    if not level:
        return own_file(folder, start, module)
    path = "/".join(filter(None, (start, module.replace(".", "/"))))
    names = (f"{path}.py", f"{path}/__init__.py") if module else (f"{path}/__init__.py".lstrip("/"),)
    return next((name for name in names if inside(folder, name)), "")
