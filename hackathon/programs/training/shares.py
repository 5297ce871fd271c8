"""Detect data that is divided between ranks by hand: by an index, a slice, or a file's name."""

import ast
import re
from collections import deque
from collections.abc import Iterator
from typing import Literal

from hackathon.programs.training.module import Module, text_value
from hackathon.programs.training.program import TrainingProgram

Share = Literal["own", "unsure", "same"]
"""A rank's data: a part of its own, unknown, or the same for all."""
_RANK = re.compile(r"rank|proc(?:ess)?_?(?:id|index)|shard", re.I)
_PLACES = frozenset({"to", "cuda", "device", "set_device", "print"})
"""Calls whose argument is a device, not data."""
_NO_DATA = frozenset({"device", "download", "generator", "map_location", "verbose", "desc"})
"""Keyword arguments that do not divide data."""
_FOLDERS = frozenset({"ImageFolder", "DatasetFolder"})
"""Data sets of torchvision whose content depends on the folder; others have the same samples in any folder."""
STEPS = 8
"""Nested names and functions that are followed to the origin of data."""
INDEX_STEPS = 3
"""Nested names that are followed to the origin of an index."""
MOST = 500
"""Values waiting to be checked: with more of them the result is "unsure"."""


def share_of(program: TrainingProgram, module: Module, data: ast.expr | None) -> Share:
    """Return the share of a data set, by the names that lead to it."""
    waiting: deque[tuple[Module, ast.AST, int]] = deque([(module, data, 0)] if data is not None else [])
    visited: set[object] = set()
    share: Share = "same"
    while waiting:
        home, value, depth = waiting.popleft()
        sources: list[tuple[Module, ast.AST]] = []
        for node in _inside(home, value):
            if _divides(program, home, node):
                return "own"
            if isinstance(node, ast.Name | ast.Attribute):
                sources += _values(program, home, node, visited)
            elif isinstance(node, ast.Call):
                if any(_RANK.search(_names(home, argument)) for argument in _data_of(home, node)):
                    share = "unsure"
                sources += _made_by(program, home, node)
        for other, source in sources if depth < STEPS else ():
            if source not in visited:
                visited.add(source)
                waiting.append((other, source, depth + 1))
        if len(waiting) > MOST:
            return "unsure"
    return share


def _inside(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its children, except those that only choose a GPU."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        module.spend(1)
        yield inner
        if isinstance(inner, ast.Call):
            waiting += [inner.func, *_data_of(module, inner)]
        elif not isinstance(inner, ast.BinOp) or not (text_value(inner.left) or "").startswith("cuda"):
            waiting += ast.iter_child_nodes(inner)


def _data_of(module: Module, call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call that affect its data."""
    name = module.dotted(call.func)
    last = name.rpartition(".")[2]
    if last in _PLACES or (name.startswith("torchvision.datasets.") and last not in _FOLDERS):
        return []
    return [*call.args, *(argument.value for argument in call.keywords if argument.arg not in _NO_DATA)]


def _divides(program: TrainingProgram, module: Module, node: ast.AST) -> bool:
    """Return whether an expression selects by a rank: `x[rank * n:]`, `parts[rank]`, `f"part-{rank}.npz"`."""
    if isinstance(node, ast.Subscript):
        return module.dotted(node.value) != "os.environ" and _ranked(program, module, node.slice)
    if isinstance(node, ast.JoinedStr):
        first = text_value(node.values[0]) or "" if node.values else ""
        return not first.startswith("cuda") and _ranked(program, module, node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and text_value(node.left) is not None:
        return not (text_value(node.left) or "").startswith("cuda") and _ranked(program, module, node.right)
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Attribute) and node.func.attr == "format"
        written = named or (isinstance(node.func, ast.Name) and node.func.id == "str")
        template = text_value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        arguments = [*node.args, *(argument.value for argument in node.keywords)]
        return written and not (template or "").startswith("cuda") and any(
            _ranked(program, module, argument) for argument in arguments
        )  # fmt: skip
    return False


def _names(module: Module, node: ast.AST) -> str:
    """Return the names in an expression; strings, such as a column called rank, do not count."""
    return " ".join(
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in _inside(module, node) if isinstance(inner, ast.Name | ast.Attribute)
    )  # fmt: skip


def _ranked(program: TrainingProgram, module: Module, value: ast.AST) -> bool:
    """Return whether a value depends on the rank, by its names or their values; when unsure, True."""
    if _RANK.search(_names(module, value)):
        return True
    waiting: deque[tuple[Module, ast.AST, int]] = deque([(module, value, 0)])
    visited: set[object] = set()
    while waiting:
        home, node, depth = waiting.popleft()
        if depth and _RANK.search(home.words(node)):
            return True
        for inner in _inside(home, node) if depth < INDEX_STEPS else ():
            if isinstance(inner, ast.Name | ast.Attribute):
                waiting += [(other, source, depth + 1) for other, source in _values(program, home, inner, visited)]
        if len(waiting) > MOST:
            return True
    return False


def _values(
    program: TrainingProgram, module: Module, node: ast.Name | ast.Attribute, visited: set[object]
) -> list[tuple[Module, ast.expr]]:
    """Return the values of a name anywhere in its file: by `=`, by a loop, or as a parameter; none the second time.

    `visited`: the names so far; grows with each call.
    """
    name = node.id if isinstance(node, ast.Name) else node.attr
    values = [(module, value) for value in module.given.get(name, ())]
    function = module.function(node) if isinstance(node, ast.Name) else None
    if (module.name, name, function) in visited:
        return []
    visited.add((module.name, name, function))
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
        if name in names:
            at = names.index(name) - (names[0] == "self")
            for other, call in program.callers.get(function.name, ()):
                value = next((argument.value for argument in call.keywords if argument.arg == name), None)
                value = value or (call.args[at] if 0 <= at < len(call.args) else None)
                values += [(other, value)] if value is not None else []
    return values


def _made_by(program: TrainingProgram, module: Module, call: ast.Call) -> Iterator[tuple[Module, ast.AST]]:
    """Yield the return values of a function of the program, or the class of a created object."""
    name = module.dotted(call.func).rpartition(".")[2]
    for other, function in program.functions.get(name, ()):
        for node in ast.walk(function):
            other.spend(1)
            if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                yield other, node.value
    for other in program.modules:
        yield from ((other, owner) for owner in other.classes.get(name, ()))
