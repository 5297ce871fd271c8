"""Files of the checkout as text and as syntax trees: each is read, parsed and walked once in a process."""

import ast
import io
import tokenize
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


@cache
def docstrings(path: Path) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of each docstring of a file, those below constants and fields included."""
    return tuple(
        (node.lineno, node.value.value)
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


@cache
def comments(path: Path) -> tuple[tuple[int, str], ...]:
    """Return (line, text) of each comment of a file; lines of one comment are joined."""
    blocks: list[tuple[int, str]] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text(path)).readline):
        if token.type == tokenize.COMMENT:
            words = token.string.lstrip("#").strip()
            alone = token.line.lstrip().startswith("#")
            if alone and last == token.start[0] - 1:
                line, before = blocks.pop()
                blocks.append((line, f"{before} {words}"))
            else:
                blocks.append((token.start[0], words))
            last = token.start[0] if alone else 0
    return tuple(blocks)
