"""One Python file of a program for the rules: the meaning of its names, and the conditions of its lines."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from hackathon.programs.scripts.findings import Edit
from hackathon.programs.training.rules import FileLook
from hackathon.runs.source.program_text import ProgramFile

RANK = re.compile(r"rank|main|master|primary|chief|root|leader|zero|writer|proc|verbose|is_first", re.I)
"""Words of conditions that may be true on one rank only: such a line may not run on every rank."""
STEPS = 3_000_000
"""Limit on visits of a file's nodes; programs written by people need a thousandth of that."""
_HOLDERS = frozenset({"self", "cls", "args", "opt", "opts", "cfg", "config", "hparams", "params", "flags", "FLAGS"})
"""Names of containers: assigning to one of their elements says nothing about the others."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class TooManyStepsError(Exception):
    """A file would keep the rules busy forever."""


class Module:
    """A parsed file."""

    def __init__(self, file: ProgramFile, tree: ast.Module) -> None:
        self.name = file.name
        self.tree = tree
        self.look = FileLook(file.name, "python", file.lines)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self.left = STEPS
        self._assigned: dict[str, list[ast.expr | None]] = {}
        for node in ast.walk(tree):
            self.nodes.append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Name → the full name that was imported under it."""
        aliases: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    root = alias.name.partition(".")[0]
                    aliases[alias.asname or root] = alias.name if alias.asname else root
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return aliases

    @cached_property
    def used_text(self) -> str:
        """The text without imports, and the full names of the used imports: an import alone does nothing."""
        lines = list(self.look.lines)
        for node in self.nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    if number <= len(lines) and ";" not in lines[number - 1]:
                        lines[number - 1] = ""
        used = {node.id for node in self.nodes if isinstance(node, ast.Name)}
        return "\n".join([*lines, *(full for name, full in self.aliases.items() if name in used)])

    def dotted(self, node: ast.AST | None) -> str:
        """Return a name as it was imported: `mp.spawn` → `torch.multiprocessing.spawn`; empty without one."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return f".{parts[0]}" if parts else ""
        return ".".join([self.aliases.get(node.id, node.id), *reversed(parts)])

    @cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call with the name of the called function."""
        return [(node, self.dotted(node.func)) for node in self.nodes if isinstance(node, ast.Call)]

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield (node, its parent) upwards."""
        while (holder := self.parents.get(node)) is not None:
            yield node, holder
            node = holder

    def spend(self, steps: int) -> None:
        """Count visits of nodes. Raises TooManyStepsError when there are too many."""
        self.left -= steps
        if self.left < 0:
            raise TooManyStepsError(self.name)

    def function(self, node: ast.AST) -> Function | None:
        """Return the function that contains a node."""
        return next((up for _, up in self.above(node) if isinstance(up, Function)), None)

    def tests(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the conditions of a line: tests around it, and earlier ones that leave its block.

        `if __name__ == "__main__"` does not count.
        """
        for below, up in self.above(node):
            if isinstance(up, ast.If | ast.While | ast.IfExp) and below is not up.test and not _main(up.test):
                yield up.test
            elif isinstance(up, ast.BoolOp | ast.Match | ast.Assert):
                yield up
            for block in ("body", "orelse", "finalbody"):
                statements = getattr(up, block, None)
                if isinstance(statements, list) and below in statements:
                    position = statements.index(below)
                    self.spend(position + 1)
                    for earlier in statements[:position]:
                        if isinstance(earlier, ast.If) and leaves(earlier.body):
                            yield earlier.test

    def wraps(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the `with` expressions and decorators around a line."""
        for _, up in self.above(node):
            self.spend(1)
            if isinstance(up, ast.With | ast.AsyncWith):
                yield from (item.context_expr for item in up.items)
            elif isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from up.decorator_list

    def tried(self, node: ast.AST) -> bool:
        """Return whether a line is in a `try`."""
        return any(isinstance(up, ast.Try | ast.ExceptHandler) for _, up in self.above(node))

    def words(self, node: ast.AST) -> str:
        """Return the names and texts inside a node."""
        parts = []
        for part in ast.walk(node):
            self.spend(1)
            if isinstance(part, ast.Name):
                parts.append(part.id)
            elif isinstance(part, ast.Attribute):
                parts.append(part.attr)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                parts.append(part.value)
        return " ".join(parts)

    def assigned(self, name: str) -> list[ast.expr | None]:
        """Return the values of a name anywhere in the file; None if one is not a plain value (a parameter, a loop)."""
        if name in self._assigned:
            return self._assigned[name]
        values = self._assigned[name] = []
        self.spend(len(self.nodes))
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        values.append(node.value)
                    elif not isinstance(target, ast.Name):
                        values += [None for part in ast.walk(target) if _stores(part, name)]
            elif isinstance(node, ast.arg) and node.arg == name:
                values.append(None)
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.NamedExpr | ast.comprehension):
                values += [None for part in ast.walk(node.target) if _stores(part, name)]
        return values

    def replaced(self, node: ast.expr | ast.stmt, text: str) -> tuple[Edit, ...]:
        """Return the edit that replaces a node within one line with a text; none for a longer node."""
        if node.lineno != node.end_lineno or node.end_col_offset is None or node.lineno > len(self.look.lines):
            return ()
        line = self.look.lines[node.lineno - 1].encode("utf-8", "replace")
        new = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
        return (Edit(node.lineno, (new.decode("utf-8", "replace"),)),)

    def source(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node within one line; empty for a longer one."""
        if node.lineno != node.end_lineno or node.lineno > len(self.look.lines):
            return ""
        line = self.look.lines[node.lineno - 1].encode("utf-8", "replace")
        return line[node.col_offset : node.end_col_offset].decode("utf-8", "replace")

    @cached_property
    def given(self) -> dict[str, list[ast.expr]]:
        """Name of a variable or attribute → values assigned to it, or to a part of it, anywhere in the file."""
        values: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            targets: list[ast.expr] = []
            value: ast.expr | None = None
            if isinstance(node, ast.Assign):
                targets, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                targets, value = [node.target], node.value
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                targets, value = [node.target], node.iter
            for name in (name for target in targets for name in self._set(target)):
                if value is not None:
                    values.setdefault(name, []).append(value)
        return values

    def _set(self, target: ast.expr) -> Iterator[str]:
        """Yield the names that an assignment changes: for `data.x[i] = …` `x` and `data`, but no module or settings."""
        waiting = [target]
        while waiting:
            expression = waiting.pop()
            if isinstance(expression, ast.Tuple | ast.List):
                waiting += expression.elts
            elif isinstance(expression, ast.Starred | ast.Subscript):
                waiting += [expression.value] if self.dotted(expression.value) != "os.environ" else []
            elif isinstance(expression, ast.Attribute):
                yield expression.attr
                waiting.append(expression.value)
            elif (
                isinstance(expression, ast.Name) and expression.id not in self.aliases and expression.id not in _HOLDERS
            ):
                yield expression.id

    @cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        """Name → the classes of that name."""
        classes: dict[str, list[ast.ClassDef]] = {}
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
        return classes

    @property
    def has_os(self) -> bool:
        """Whether the top of the file imports `os`."""
        return any(isinstance(statement, ast.Import) and any(a.name == "os" and not a.asname for a in statement.names)
                   for statement in self.tree.body)  # fmt: skip


def text_value(node: ast.AST | None) -> str | None:
    """Return a string literal's value, None for other nodes."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value of a keyword argument."""
    return next((argument.value for argument in call.keywords if argument.arg == name), None)


def _main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def only_started(node: ast.stmt) -> bool:
    """Return whether a statement is `if __name__ == "__main__":`, which an import does not run."""
    test = node.test if isinstance(node, ast.If) and not node.orelse else None
    return isinstance(test, ast.Compare) and _main(test) and isinstance(test.ops[0], ast.Eq)


def leaves(body: list[ast.stmt]) -> bool:
    """Return whether a block leaves the one around it, or the program."""
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        called = last.value.func
        return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in ("exit", "_exit")
    return isinstance(last, ast.Return | ast.Continue | ast.Break | ast.Raise)


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
