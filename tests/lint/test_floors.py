"""A module imports only from its own package or from floors below, and no two modules import each other in a circle.

Every import counts: lazy ones inside functions, those for types alone, and modules that are named in a string.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from support import sources
from support.paths import ROOT

HOUSE = sources.CODE
FLOORS = {
    "cli": 9, "api": 8.5, "web": 8, "tuning": 7.7, "notify": 7.6, "readiness": 7.5, "survey": 7.4, "event": 7.3,
    "usage": 7.2, "board": 7.1, "prediction": 6, "rehearsal": 5.7, "index": 5.5, "diagnosis": 5, "programs": 4.5,
    "scaling": 4, "profiling": 3.5, "logs": 3, "runs": 2, "jobs": 1, "schedulers": 0.5, "config": 0, "parallel": -0.3,
    "access": -0.5, "text": -1, "runtime": -1.5, "": -2,
}  # fmt: skip
BELOW = {
    "web": {"page": 1, "masking": 1, "progress": 1.5, "views": 2, "attention": 2.5, "listing": 2.5, "crate": 3,
            "routing": 3, "report": 4, "site": 5, "dashboard": 5, "survey_form": 6},
}  # fmt: skip
"""Package → its sub-packages with their floors inside it; neighbours on one floor do not import each other."""


@cache
def _trees() -> Mapping[str, tuple[Path, ast.Module]]:
    """Return dotted name → path and syntax tree of every module of the toolkit."""
    found = {}
    for path in sources.modules():
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path, sources.tree(path)
    return found


@cache
def _imports() -> Mapping[str, frozenset[str]]:
    """Return module → the modules of the toolkit that it imports."""
    return {name: frozenset(_imported(path)) for name, (path, _) in _trees().items()}


def _imported(path: Path) -> Iterator[str]:
    for node in sources.nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hackathon":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in _trees() else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "hackathon")
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "." in node.value
            and node.value in _trees()
        ):
            yield node.value  # a registry's, for importlib; "hackathon" alone is a word


def _package(module: str) -> str:
    parts = module.split(".")
    inside = len(parts) > 2 or (HOUSE / parts[-1]).is_dir()
    return parts[1] if inside and len(parts) > 1 else ""


def _sub_package(module: str) -> str:
    parts = module.split(".")
    return parts[2] if len(parts) > 2 and HOUSE.joinpath(*parts[1:3]).is_dir() else ""


def test_imports_point_downwards() -> None:
    wrong = []
    for module, imports in _imports().items():
        package = _package(module)
        if package == "":
            continue
        for other in imports:
            below = _package(other)
            if below != package and FLOORS[below] >= FLOORS[package]:
                wrong.append(f"{module} imports {other}")
    assert not wrong, "\n".join(wrong)


def test_imports_inside_a_package_point_downwards() -> None:
    wrong = []
    for module, imports in _imports().items():
        floors = BELOW.get(_package(module), {})
        mine = _sub_package(module)
        for other in imports:
            its = _sub_package(other)
            inside = _package(other) == _package(module) and mine != its and {mine, its} <= set(floors)
            if inside and floors[its] >= floors[mine]:
                wrong.append(f"{module} imports {other}")
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_itself_by_a_way_round() -> None:
    circles = _circles({name: imports - {name} for name, imports in _imports().items()})
    assert not circles, "\n".join(" ↔ ".join(sorted(circle)) for circle in circles)


def _circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the strongly connected sets of more than one module (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in graph:
                continue
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(circle)

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert [sorted(each) for each in _circles({name: frozenset(to) for name, to in graph.items()})] == [["b", "c"]]


def test_every_package_has_a_floor() -> None:
    assert {_package(name) for name in _trees()} <= set(FLOORS)


def test_every_sub_package_of_the_web_has_a_floor() -> None:
    assert {_sub_package(name) for name in _trees() if _package(name) == "web"} - {""} == set(BELOW["web"])
