"""Parse a training program: a stranger's text, which is never run or imported."""

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

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


@dataclass(frozen=True)
class Binding:
    """What an imported name is: another file of the program, or something in it."""

    file: "SingleGpuProgram"
    name: str = ""
    """The name in that file; empty: the module itself."""


class SingleGpuProgram:
    """A parsed program: nodes, their parents, their lines."""

    def __init__(self, raw: bytes, name: str) -> None:
        self.raw = raw
        self.name = name
        self.module, self.tail = _parsed(raw, name)
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._children: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        """libcst finds the children of a node again each time, which takes long."""
        waiting: list[cst.CSTNode] = [self.module]
        while waiting:
            node = waiting.pop()
            self._children[node] = tuple(reversed(node.children))
            waiting.extend(self._children[node])
            self.parents.update(dict.fromkeys(self._children[node], node))
        self.identifiers = {name.value for name in self.find(self.module, cst.Name)}
        self.alone = self
        """The same file without the others."""
        self.joined_in = ""
        """A module of the program that was not parsed, but joins processes."""
        self.files: tuple[SingleGpuProgram, ...] = (self,)
        """This file, and the program's own modules beside it."""
        self.bindings: dict[str, Binding] = {}
        """Name in this file → what it is in another file of the program."""
        self.stars: tuple[SingleGpuProgram, ...] = ()
        """The files of which it imports all names."""
        self._homes: dict[cst.CSTNode, SingleGpuProgram] = {self.module: self}
        self._unused: set[cst.CSTNode] = set()
        self._nodes: list[cst.CSTNode] = []
        self._kinds: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}

    def with_modules(self, others: "tuple[SingleGpuProgram, ...]") -> "SingleGpuProgram":
        """Return the same program with its own modules: parents, lines and names are those of all files then."""
        if not others:
            return self
        program = copy(self)
        program.files = (program, *others)
        program.identifiers = set().union(*(file.identifiers for file in program.files))
        program._children = {node: below for file in program.files for node, below in file._children.items()}
        program.parents = {child: up for file in program.files for child, up in file.parents.items()}
        program._homes = {file.module: file for file in program.files}
        program._nodes, program._kinds = [], {}
        program._unused = {
            node
            for other in others
            for node in other.module.body
            if started_only(other, node)
            or (isinstance(node, cst.FunctionDef) and not _named(node, other, program.files))
        }
        return program

    def nodes(self) -> Iterator[cst.CSTNode]:
        """Yield the nodes of all files, without those that run only if another file is started."""
        if not self._nodes:
            for file in self.files:
                waiting: list[cst.CSTNode] = [file.module]
                while waiting:
                    node = waiting.pop()
                    self._nodes.append(node)
                    waiting.extend(child for child in self._below(node) if child not in self._unused)
        return iter(self._nodes)

    def everywhere(self, kind: type[Node]) -> Iterator[Node]:
        """Yield the nodes of a kind in all files."""
        if kind not in self._kinds:
            self._kinds[kind] = [node for node in self.nodes() if isinstance(node, kind)]
        return iter(self._kinds[kind])  # type: ignore[arg-type]

    def home(self, node: cst.CSTNode | None) -> "SingleGpuProgram":
        """Return the file of a node; the started one for a new node."""
        while node is not None and not isinstance(node, cst.Module):
            node = self.parents.get(node)
        return self._homes.get(node, self) if node is not None else self

    def walk(self, top: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield a node and all nodes below it, in the order of the text."""
        waiting = [top]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(self._below(node))

    def _below(self, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """Return the children of a node, the last one first; also of a new node."""
        children = self._children.get(node)
        return children if children is not None else tuple(reversed(node.children))

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
        alone = self.home(node).alone
        return alone._positions[node].start.line if node in alone._positions else 1

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        with room():
            return MetadataWrapper(self.module, unsafe_skip_copy=True).resolve(PositionProvider)

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


def _named(function: cst.FunctionDef, home: SingleGpuProgram, files: tuple[SingleGpuProgram, ...]) -> bool:
    """Return whether a function of a module is used anywhere: there, or in a file that imports it."""
    name = function.name.value
    started = [node for node in home.module.body if started_only(home, node)]
    inside = {inner for node in (function, *started) for inner in home.walk(node)}
    if any(node.value == name and node not in inside for node in home.find(home.module, cst.Name)):
        return True
    for file in files:
        if any(binding.file is home and binding.name in ("", name) for binding in file.bindings.values()) and (
            any(binding.name == name for binding in file.bindings.values()) or name in file.alone.identifiers
        ):
            return True
        own = any(isinstance(node, cst.FunctionDef) and node.name.value == name for node in file.module.body)
        if home in file.stars and name in file.alone.identifiers and not own:
            return True
    return False


def started_only(program: SingleGpuProgram, node: cst.CSTNode) -> bool:
    """Return whether a statement is `if __name__ == "__main__":`, which an import does not run."""
    return isinstance(node, cst.If) and node.orelse is None and "__name__" in program.text(node.test)


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
