"""Resolve names of a program: imports, dotted names, pure expressions."""

from collections.abc import Iterator

import libcst as cst

from hackathon.programs.port.source import SingleGpuProgram

_PURE_CALLS = {"len", "int", "float", "str", "bool", "min", "max", "round", "abs", "sum", "range"}


def dotted(node: cst.BaseExpression | cst.BaseAssignTargetExpression) -> str | None:
    """Return `a.b.c` for names and attributes, None for other expressions."""
    parts = []
    current: cst.CSTNode = node
    while isinstance(current, cst.Attribute):
        parts.append(current.attr.value)
        current = current.value
    if not isinstance(current, cst.Name):
        return None
    return ".".join([current.value, *reversed(parts)])


class Imports:
    """The imports of a program, file by file."""

    def __init__(self, program: SingleGpuProgram) -> None:
        self.program = program
        self.modules: set[str] = set()
        """All imported modules, as written."""
        self._names = {file: self._of(file) for file in program.files}
        self.names = self._names[program]
        """Name in the started file → its full name."""

    def _of(self, file: SingleGpuProgram) -> dict[str, str]:
        names: dict[str, str] = {}
        for node in file.find(file.module, cst.Import):
            for alias in node.names:
                full = dotted(alias.name) or ""
                self.modules.add(full)
                short = dotted(alias.asname.name) if alias.asname else None
                names[short or full.split(".")[0]] = full if short else full.split(".")[0]
        for statement in file.find(file.module, cst.ImportFrom):
            origin = dotted(statement.module) if statement.module is not None and not statement.relative else None
            if origin is None:
                continue
            self.modules.add(origin)
            for alias in () if isinstance(statement.names, cst.ImportStar) else statement.names:
                name = dotted(alias.name) or ""
                short = dotted(alias.asname.name) if alias.asname else None
                names[short or name] = f"{origin}.{name}"
        return names

    def of(self, file: SingleGpuProgram) -> dict[str, str]:
        """Return name → full name in a file."""
        return self._names[file]

    def uses(self, *packages: str) -> bool:
        """Return whether a package or one of its submodules is imported."""
        return any(name == package or name.startswith(f"{package}.") for name in self.modules for package in packages)

    def full(self, node: cst.BaseExpression) -> str:
        """Return the full dotted name of an expression, "" without one."""
        name = dotted(node)
        if name is None:
            return ""
        first, dot, attribute = name.partition(".")
        names = self.names if len(self._names) == 1 else self._names[self.program.home(node)]
        return f"{names.get(first, first)}{dot}{attribute}"


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """Return an argument of a call by its keyword or position."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
    plain = [arg for arg in call.args if arg.keyword is None]
    if position is not None and position < len(plain) and not any(arg.star for arg in plain[: position + 1]):
        return plain[position]
    return None


def calls(program: SingleGpuProgram, top: cst.CSTNode) -> Iterator[cst.Call]:
    """Yield the calls at and below a node."""
    return program.find(top, cst.Call)


def method(call: cst.Call) -> str | None:
    """Return the name of a called method, None for a plain function."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def pure(program: SingleGpuProgram, node: cst.CSTNode) -> bool:
    """Return whether evaluating an expression twice, or not at all, makes no difference."""
    for part in program.walk(node):
        if isinstance(part, cst.Call) and not (isinstance(part.func, cst.Name) and part.func.value in _PURE_CALLS):
            return False
        if isinstance(part, cst.Await | cst.Yield | cst.NamedExpr):
            return False
    return True


def with_argument(args: list[cst.Arg], extra: cst.Arg) -> list[cst.Arg]:
    """Append an argument in the layout of the others: one per line, with a comma at the end."""
    last = args[-1]
    between = next((arg.comma for arg in args[:-1] if isinstance(arg.comma, cst.Comma)), None)
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    trailing = last.comma
    args[-1] = last.with_changes(comma=between if between is not None else plain)
    added = extra.with_changes(comma=trailing, whitespace_after_arg=last.whitespace_after_arg, equal=_tight())
    args[-1] = args[-1].with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return [*args, added]


def _tight() -> cst.AssignEqual:
    none = cst.SimpleWhitespace("")
    return cst.AssignEqual(whitespace_before=none, whitespace_after=none)
