"""Files of the checkout as text and as syntax trees: each is read, parsed and walked once in a process."""

import ast
from functools import cache
from pathlib import Path

from support.paths import ROOT

CODE = ROOT / "hackathon"


@cache
def modules() -> tuple[Path, ...]:
    """Return all modules of the toolkit."""
    return tuple(sorted(CODE.rglob("*.py")))


@cache
def text(path: Path) -> str:
    """Return what a file holds."""
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file; all checks share it, so that none may change it."""
    return ast.parse(text(path), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree, in the order of `ast.walk`."""
    return tuple(ast.walk(tree(path)))
