"""A module imports only from its own package or from floors below."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {
    "cli": 8, "web": 7, "share": 6, "diagnosis": 5, "scaling": 4, "logs": 3, "runs": 2, "jobs": 1, "schedulers": 1,
    "config": 0, "text": -1, "": -2,
}  # fmt: skip
MODULES = sorted((ROOT / "hackathon").rglob("*.py"))


def _package(path: Path) -> str:
    parts = path.relative_to(ROOT / "hackathon").parts
    return parts[0] if len(parts) > 1 else ""


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "hackathon":
                found.add(parts[1] if len(parts) > 1 else "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    package = _package(path)
    if package in ("", "runtime"):
        return
    for other in _imported(path):
        assert other == package or FLOORS[other] < FLOORS[package], f"{package} must not import {other}"


def test_runtime_imports_no_toolkit() -> None:
    for path in (ROOT / "hackathon" / "runtime").glob("*.py"):
        assert not _imported(path)


def test_every_package_has_a_floor() -> None:
    packages = {_package(path) for path in MODULES} - {"runtime"}
    assert packages <= set(FLOORS)
