"""The changed modules of a program get files of their own; the imports of the others follow."""

from pathlib import Path

import libcst as cst

from hackathon.programs.port.edits import Edits, Statement
from hackathon.programs.port.names import dotted
from hackathon.programs.port.source import Binding, SingleGpuProgram


def module_name(name: str) -> str:
    """Return the file of a changed module: `trainer_ported.py` for `trainer.py`, `ported.py` for `__init__.py`."""
    path = Path(name)
    return str(path.with_name("ported.py" if path.stem == "__init__" else f"{path.stem}_ported.py"))


def importers(program: SingleGpuProgram, changed: set[SingleGpuProgram]) -> set[SingleGpuProgram]:
    """Return the changed files and all files that import from them, directly or not.

    A package's `__init__.py` that only hands names on stays: whoever imports them takes the changed file itself.
    """
    changed = set(changed)
    while True:
        more = {
            file
            for file in program.files
            if Path(file.name).stem != "__init__" and any(origin in changed for origin in _origins(file))
        }
        if more <= changed:
            return changed
        changed |= more


def _origins(file: SingleGpuProgram) -> list[SingleGpuProgram]:
    return [*(defining(binding).file for binding in file.bindings.values()), *file.stars]


def defining(binding: Binding) -> Binding:
    """Return a binding through the files that only hand the name on."""
    for _ in range(5):
        further = binding.file.bindings.get(binding.name) if binding.name else None
        if further is None:
            return binding
        binding = further
    return binding


def rename_imports(edits: Edits, file: SingleGpuProgram, changed: set[SingleGpuProgram]) -> None:
    """Let the imports of a file name the changed modules."""
    for statement in file.find(file.module, cst.ImportFrom):
        _from(edits, file, statement, changed)
    for plain in file.find(file.module, cst.Import):
        for alias in plain.names:
            name = dotted(alias.name) or ""
            short = dotted(alias.asname.name) if alias.asname else None
            binding = file.bindings.get(short or name)
            if binding is None or binding.name or binding.file not in changed:
                continue
            new = _last(name, binding.file)
            if short or "." not in name:
                edits.replaced[alias] = _alias(edits, new, short or name)
                continue
            edits.replaced[alias] = _alias(edits, new, None)
            for node in file.find(file.module, cst.Attribute):
                if dotted(node) == name and not isinstance(file.parents.get(node), cst.ImportAlias):
                    edits.swap(node, new)


def _last(module: str, file: SingleGpuProgram) -> str:
    """Return the dotted name of a changed module."""
    if Path(file.name).stem == "__init__":
        return f"{module}.ported" if module else "ported"
    return f"{module}_ported"


def _alias(edits: Edits, name: str, short: str | None):  # type: ignore[no-untyped-def]
    text = f"import {name} as {short}" if short else f"import {name}"
    line = edits.statements(f"{text}\n")[0]
    (alias,) = line.body[0].names  # type: ignore[union-attr,index]
    return lambda updated: alias.with_changes(comma=updated.comma)


def _from(edits: Edits, file: SingleGpuProgram, statement: cst.ImportFrom, changed: set[SingleGpuProgram]) -> None:
    module = dotted(statement.module) or "" if statement.module is not None else ""
    dots = "." * len(statement.relative)
    if isinstance(statement.names, cst.ImportStar):
        star = next((other for other in file.stars if other in changed and _ends(other, module)), None)
        if star is not None:
            _replace(edits, statement, [f"from {dots}{_last(module, star)} import *"])
        return
    lines: dict[str, list[str]] = {}
    moved = False
    for alias in statement.names:
        last = dotted(alias.name) or ""
        short = (dotted(alias.asname.name) if alias.asname else None) or last
        source, name = f"{dots}{module}", last
        binding = file.bindings.get(short)
        if binding is not None and not binding.name and binding.file in changed:  # a module from its package
            moved = True
            inside = Path(binding.file.name).stem == "__init__"
            source, name = (_joined(source, last), "ported") if inside else (source, f"{last}_ported")
        elif binding is not None and binding.name:
            origin = defining(binding)
            if origin.file in changed and origin.name:
                moved = True
                source, name = _joined(dots, _path(module, binding.file, origin.file)), origin.name
        lines.setdefault(source, []).append(name if name == short else f"{name} as {short}")
    if moved:
        _replace(edits, statement, [f"from {source} import {', '.join(names)}" for source, names in lines.items()])


def _joined(source: str, name: str) -> str:
    return f"{source}{name}" if source.endswith(".") or not source else f"{source}.{name}"


def _ends(file: SingleGpuProgram, module: str) -> bool:
    path = Path(file.name)
    return (path.parent.name if path.stem == "__init__" else path.stem) == module.rpartition(".")[2]


def _path(module: str, through: SingleGpuProgram, origin: SingleGpuProgram) -> str:
    """Return the dotted name of a changed module that is imported by way of a package's `__init__.py`."""
    if through is origin:
        return _last(module, origin)
    try:
        parts = Path(origin.name).with_suffix("").relative_to(Path(through.name).parent).parts
    except ValueError:
        parts = Path(origin.name).with_suffix("").parts
        module = ""
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return _last(".".join(filter(None, (module, *parts))), origin)


def _replace(edits: Edits, statement: cst.ImportFrom, lines: list[str]) -> None:
    first, *others = [line for text in lines for line in edits.statements(f"{text}\n")]
    edits.replaced[statement] = lambda updated: _with_semicolon(first, updated)
    if others:
        edits.after.setdefault(edits.program.statement(statement), [])[:0] = others


def _with_semicolon(line: Statement, updated: cst.CSTNode) -> cst.CSTNode:
    assert isinstance(line, cst.SimpleStatementLine) and isinstance(updated, cst.ImportFrom)
    return line.body[0].with_changes(semicolon=updated.semicolon)
