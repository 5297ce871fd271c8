"""Parse a training program: a stranger's text, which is never run or imported."""

import ast
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from hackathon.text.errors import RequestError
from hackathon.text.files import open_regular
from hackathon.text.printable import printable

LARGEST = 400_000
"""Bytes of a program that are read; the longest known training scripts have a quarter of that."""
DEEPEST = 120
"""Levels of Python's syntax tree; programs written by people have fewer than 40."""
_FRAMES = 12_000
"""Python frames for a tree of that depth: libcst visits it recursively."""

Node = TypeVar("Node", bound=cst.CSTNode)


class SingleGpuProgram:
    """A parsed program: nodes, their parents, their lines."""

    def __init__(self, raw: bytes, name: str) -> None:
        self.raw = raw
        self.name = name
        self.module, self.tail = _parsed(raw, name)
        with room():
            wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
            self._positions = wrapper.resolve(PositionProvider)
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        for node in self.walk(self.module):
            for child in node.children:
                self.parents[child] = node
        self.identifiers = {name.value for name in self.find(self.module, cst.Name)}

    def walk(self, top: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield a node and all nodes below it, in the order of the text."""
        waiting = [top]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def find(self, top: cst.CSTNode, kind: type[Node]) -> Iterator[Node]:
        """Yield the nodes of a kind at and below a node."""
        return (node for node in self.walk(top) if isinstance(node, kind))

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes around a node, the innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def line(self, node: cst.CSTNode) -> int:
        """Return the line on which a node begins, counted from 1."""
        return self._positions[node].start.line if node in self._positions else 1

    def text(self, node: cst.CSTNode) -> str:
        """Return the text of a node."""
        with room():
            return self.module.code_for_node(node)

    def statement(self, node: cst.CSTNode) -> "cst.SimpleStatementLine | cst.BaseCompoundStatement":
        """Return the innermost complete statement in a block around a node, or the node itself."""
        for candidate in (node, *self.above(node)):
            is_statement = isinstance(candidate, cst.SimpleStatementLine | cst.BaseCompoundStatement)
            # `elif` is an If inside an If: no statement can be put before it
            if is_statement and isinstance(self.parents.get(candidate), cst.Module | cst.IndentedBlock):
                return candidate  # type: ignore[return-value]
        raise ValueError("a node outside of statements")


def read_program(path: Path) -> SingleGpuProgram:
    """Return the program in a regular file, `-` for standard input.

    Raises RequestError: unreadable, too long, too deep, not Python 3 (with the line).
    """
    if str(path) == "-":
        raw = sys.stdin.buffer.read(LARGEST + 1)
    else:
        try:
            with open_regular(path) as stream:
                raw = stream.read(LARGEST + 1)
        except OSError as error:
            raise RequestError(
                "port.unreadable",
                "{path}: cannot be read: {reason}",
                path=printable(str(path)),
                reason=error.strerror or error,
            ) from None
    return SingleGpuProgram(raw, printable(str(path)))


def _parsed(raw: bytes, name: str) -> tuple[cst.Module, bytes]:
    """Return the tree and the whitespace after the last line end, which libcst omits."""
    if len(raw) > LARGEST:
        raise RequestError("port.too_long", "{path}: longer than {limit} bytes", path=name, limit=LARGEST)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a stranger's code
            tree = ast.parse(raw)
    except SyntaxError as error:
        reason = printable(error.msg or "")
        raise RequestError(
            "port.syntax",
            "{path}, line {line}: not Python 3: {reason}",
            hint="Correct the line. Python 2: convert the program first (2to3). A notebook: export it with jupyter "
            "nbconvert --to script",
            path=name,
            line=error.lineno or 1,
            reason=reason,
        ) from None
    except (ValueError, LookupError) as error:  # a null byte, lone surrogates, an unknown encoding
        raise RequestError(
            "port.syntax",
            "{path}, line {line}: not Python 3: {reason}",
            hint="Correct the line. Python 2: convert the program first (2to3). A notebook: export it with jupyter "
            "nbconvert --to script",
            path=name,
            line=1,
            reason=printable(str(error)),
        ) from None
    except (MemoryError, RecursionError):
        raise RequestError("port.too_deep", "{path}: the code is nested too deeply to be read", path=name) from None
    # check before libcst parses: its native parser does not limit the depth
    if _deeper(tree):
        raise RequestError("port.too_deep", "{path}: the code is nested too deeply to be read", path=name)
    try:
        with room():
            module = cst.parse_module(raw)
            exact = module.bytes
    except cst.ParserSyntaxError as error:
        raise RequestError(
            "port.syntax",
            "{path}, line {line}: not Python 3: {reason}",
            hint="Correct the line. Python 2: convert the program first (2to3). A notebook: export it with jupyter "
            "nbconvert --to script",
            path=name,
            line=error.raw_line,
            reason=printable(error.message),
        ) from None
    except Exception as error:  # native code on a stranger's text: after any error there is nothing to port
        raise RequestError(
            "port.syntax",
            "{path}, line {line}: not Python 3: {reason}",
            hint="Correct the line. Python 2: convert the program first (2to3). A notebook: export it with jupyter "
            "nbconvert --to script",
            path=name,
            line=1,
            reason=printable(str(error))[:200],
        ) from None
    if not raw.startswith(exact) or raw[len(exact) :].strip():
        raise RequestError(
            "port.not_exact", "{path}: this text cannot be reproduced byte for byte, so nothing is changed", path=name
        )
    return module, raw[len(exact) :]


def _deeper(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


@contextmanager
def room() -> Iterator[None]:
    """Raise the recursion limit enough for visits of a tree of DEEPEST levels."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
