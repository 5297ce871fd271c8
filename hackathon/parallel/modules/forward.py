"""Decide whether a module only calls its children in sequence, by the source of its `forward`, without guessing."""

import ast
import inspect
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, FunctionType

from torch import nn

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

Steps = list[tuple[str, nn.Module]]
"""Names of children, relative to the module, in the order of the calls."""


def steps_of(module: nn.Module) -> Steps:
    """Return the children that a module calls one after another, each with the result of the one before.

    [] if it is not certain that it does only this, or if something would be lost without its own call.
    """
    kind = type(module)
    if kind.__call__ is not nn.Module.__call__ or "forward" in vars(module):
        return []
    if any(getattr(module, hook, None) for hook in HOOKS):
        return []
    try:
        if isinstance(module, nn.Sequential) and kind.forward is nn.Sequential.forward:
            return _items(module)
        return _Reader(module).steps()
    except _UncertainError:
        return []


class _UncertainError(Exception):
    """The effect of a `forward` is not certain."""


def _items(module: nn.Module) -> Steps:
    """Return the items of a list of modules. Raises _UncertainError for any other module."""
    for kind in (nn.Sequential, nn.ModuleList):
        if isinstance(module, kind) and type(module).__iter__ is kind.__iter__:
            children = [(name, child) for name, child in module._modules.items() if child is not None]
            if len(children) == len(module._modules):
                return children
    raise _UncertainError


class _Reader:
    """Reads a `forward` with one argument, of calls of children, loops over lists of children, and `return`."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        function = type(module).forward
        source = _source(function) if isinstance(function, FunctionType) else None
        if source is None:
            raise _UncertainError
        self._function = source
        arguments = self._function.args
        if (
            len(arguments.args) != 2 or arguments.posonlyargs or arguments.kwonlyargs or arguments.defaults
            or arguments.vararg or arguments.kwarg
        ):  # fmt: skip
            raise _UncertainError
        self._self, self._value = (argument.arg for argument in arguments.args)

    def steps(self) -> Steps:
        """Return the calls in order."""
        body = self._function.body
        if ast.get_docstring(self._function) is not None:
            body = body[1:]
        if not body or not isinstance(body[-1], ast.Return) or body[-1].value is None:
            raise _UncertainError
        steps: Steps = []
        for statement in body[:-1]:
            if isinstance(statement, ast.For):
                steps += self._loop(statement)
            else:
                steps += self._assignment(statement)
        return steps + list(self._calls(body[-1].value))

    def _assignment(self, statement: ast.stmt) -> Steps:
        """Return the calls whose result gets a name: from here on only that name may be read."""
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            raise _UncertainError
        steps = list(self._calls(statement.value))
        self._value = statement.targets[0].id
        if self._value == self._self:
            raise _UncertainError
        return steps

    def _calls(self, value: ast.expr) -> Iterator[tuple[str, nn.Module]]:
        """Yield the children of `self.c(self.b(self.a(x)))`, the innermost first."""
        if isinstance(value, ast.Name) and value.id == self._value:
            return
        yield from self._calls(_argument(value))
        assert isinstance(value, ast.Call)
        yield self._child(value.func)

    def _loop(self, loop: ast.For) -> Steps:
        """Return the children of `for layer in self.layers: x = layer(x)`."""
        inside = loop.body[0]
        if len(loop.body) != 1 or loop.orelse or not isinstance(loop.target, ast.Name):
            raise _UncertainError
        if not isinstance(inside, ast.Assign) or len(inside.targets) != 1 or not isinstance(inside.value, ast.Call):
            raise _UncertainError
        called, argument, target = inside.value.func, _argument(inside.value), inside.targets[0]
        names = [node.id if isinstance(node, ast.Name) else "" for node in (called, argument, target)]
        if names != [loop.target.id, self._value, self._value] or loop.target.id in (self._value, self._self):
            raise _UncertainError
        path, members = self._child(loop.iter)
        return [(f"{path}.{name}", child) for name, child in _items(members)]

    def _child(self, value: ast.expr) -> tuple[str, nn.Module]:
        """Return the child `self.a.b`, with its name `a.b`."""
        names: list[str] = []
        while isinstance(value, ast.Attribute):
            names.insert(0, value.attr)
            value = value.value
        if not names or not isinstance(value, ast.Name) or value.id != self._self:
            raise _UncertainError
        module = self._module
        for name in names:
            module = _submodule(module, name)
        return ".".join(names), module


def _argument(value: ast.expr) -> ast.expr:
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        raise _UncertainError
    return value.args[0]


def _submodule(module: nn.Module, name: str) -> nn.Module:
    """Return the child of an attribute name, unless another attribute with this name precedes it."""
    kind = type(module)
    child = module._modules.get(name)
    plain = kind.__getattr__ is nn.Module.__getattr__ and kind.__getattribute__ is object.__getattribute__
    if child is None or not plain or name in vars(module) or hasattr(kind, name):
        raise _UncertainError
    return child


@cache
def _source(function: FunctionType) -> ast.FunctionDef | None:
    """Return the syntax tree of a function; None unless it compiles to the running code."""
    try:
        source = inspect.getsource(function)
        parsed = ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    outer = parsed.body[0] if len(parsed.body) == 1 else None
    inner = outer.body if isinstance(outer, ast.If) else parsed.body
    definition = inner[0] if len(inner) == 1 else None
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        return None
    definition.returns = None  # annotations may use names that only the file defines
    for argument in definition.args.args:
        argument.annotation = None
    codes = [constant for constant in compile(parsed, "<forward>", "exec").co_consts if isinstance(constant, CodeType)]
    return definition if len(codes) == 1 and _same(codes[0], function.__code__) else None


def _same(first: CodeType, second: CodeType) -> bool:
    """Return whether two functions without inner functions do the same."""
    facts: Sequence[str] = ("co_code", "co_names", "co_varnames", "co_consts", "co_freevars", "co_cellvars")
    return all(getattr(first, fact) == getattr(second, fact) for fact in facts)
