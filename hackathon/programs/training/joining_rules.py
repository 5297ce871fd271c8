"""Find out whether the processes of a program join each other: always, only with an option, or never."""

import ast
import operator
from collections.abc import Callable, Collection, Iterator
from typing import Any

from hackathon.programs.training.module import Module
from hackathon.programs.training.program import DEPTH, FRAMEWORKS, TrainingProgram
from hackathon.runs.source.program_text import join_names

GROUPS = ("init_process_group", "init_distributed", "init_device_mesh", "init_rpc", "initialize_model_parallel")
"""Calls that join a group of processes; `init_distributed` is DeepSpeed's."""
_TRAINERS = frozenset({"torch", "tensorflow", "keras", "chainer"})
"""Packages that a program trains with."""
_LIBRARIES = FRAMEWORKS | {"horovod", "mpi4py", "chainermn", "jax", "flax", "monai", "speechbrain", "espnet", "nemo"}
"""Packages that may join the processes themselves."""
_JOINING_PARTS = {"transformers": "train", "ignite": "dist"}
"""Package → word in the names of those parts that join processes."""
UNKNOWN = object()
"""The value of an expression that depends on more than the options' defaults."""
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_ACTIONS = {"store_true": False, "store_false": True}
OPTIONS = 4
"""Options that a message names."""


def joins_nowhere(program: TrainingProgram) -> bool:
    """Return whether a program trains, but none of its own files joins processes or uses a name for that."""
    names = {name for module in program.modules for name in module.aliases.values()}
    imported = {name.partition(".")[0] for name in names}
    libraries = any(map(_may_join, names)) or (program.strangers - imported) & _LIBRARIES
    if libraries or not imported & _TRAINERS:
        return False
    return not any(True for module in program.modules for _ in join_names(module.tree))


def _may_join(name: str) -> bool:
    """Return whether an imported name may join processes."""
    library, _, rest = name.partition(".")
    part = _JOINING_PARTS.get(library, "")
    return library in _LIBRARIES and (rest in ("", "*") or part in rest.lower())


def needed_options(program: TrainingProgram, words: Collection[str]) -> tuple[Module, ast.Call, tuple[str, ...]] | None:
    """Return the file and the call that joins the group, and the options that the call needs.

    None if a call that joins can be reached with the options' defaults, or if one of its options is among `words`.
    """
    options = _Options(program, words)
    first = None
    for module in program.modules:
        for call, name in module.calls:
            if name.rpartition(".")[2] not in GROUPS or _is_unused(program, module, call):
                continue
            needed = options.preventing(module, call)
            if not needed or needed & set(words):
                return None
            first = first or (module, call, tuple(sorted(needed))[:OPTIONS])
    return first


def _is_unused(program: TrainingProgram, module: Module, call: ast.Call) -> bool:
    """Return whether a line is in a plain function that nothing in the program uses."""
    function = module.function(call)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    in_class = any(isinstance(up, ast.ClassDef) for _, up in module.above(function))
    return not in_class and function.name not in program.uses


class _Options:
    """The options of a program, and the values of its conditions with their defaults.

    The options among `words`, those of the command line, have no known value.
    """

    def __init__(self, program: TrainingProgram, words: Collection[str]) -> None:
        self.program = program
        self.words: dict[str, str] = {}
        """Attribute → option, as on the command line."""
        self.defaults: dict[str, object] = {}
        """Attribute → default; UNKNOWN unless it is a constant."""
        self._values: dict[str, Any] = {}
        """Name → value: a cache."""
        self.assignments: dict[str, list[tuple[Module, ast.AST, ast.expr]]] = {}
        """Name → (file, statement, assigned expression); `_OTHER` unless the value is a single expression."""
        adders = {"add_argument"}
        for module in program.modules:
            for node in module.nodes:
                for name, value in self._bound(node):
                    self.assignments.setdefault(name, []).append((module, node, value))
                    if _last(value) == "add_argument":  # add = parser.add_argument
                        adders.add(name)
        for module in program.modules:
            for call, name in module.calls:
                if name.rpartition(".")[2] in adders:
                    self._declare(call)
        self.defaults.update((name, UNKNOWN) for name, word in self.words.items() if word in words)

    def _bound(self, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
        """Yield (name, value) for the names that a node binds; for a parameter, the values that all calls pass."""
        if isinstance(node, ast.FunctionDef):
            passed = self._passed(node)
            for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                yield from ((parameter.arg, value) for value in passed.get(parameter.arg, [_OTHER]))
        elif not isinstance(node, ast.arg):
            yield from _given(node)

    def _passed(self, function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
        """Return parameter → the values that it gets; empty unless every use of a plain function is a simple call."""
        calls = [call for _, call in self.program.callers.get(function.name, ())]
        arguments = function.args
        names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
        plain = not (function.decorator_list or arguments.vararg or arguments.kwarg) and names[:1] != ["self"]
        if not plain or not calls or len(self.program.functions.get(function.name, ())) != 1:
            return {}
        if len(self.program.uses.get(function.name, ())) != len(calls):  # it is handed on
            return {}
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        only_named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        defaults |= {parameter.arg: value for parameter, value in only_named if value is not None}
        values: dict[str, list[ast.expr]] = {}
        for call in calls:
            if any(isinstance(value, ast.Starred) for value in call.args) or not all(key.arg for key in call.keywords):
                return {}
            named = {str(key.arg): key.value for key in call.keywords}
            for name, value in (defaults | dict(zip(names, call.args, strict=False)) | named).items():
                values.setdefault(name, []).append(value)
        return values

    def _declare(self, call: ast.Call) -> None:
        texts = [node.value for node in call.args if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        word = next((text for text in texts if text.startswith("--")), "")
        if not word:
            return
        keywords = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        chosen, action = keywords.get("dest"), keywords.get("action")
        name = str(chosen.value) if isinstance(chosen, ast.Constant) else word.lstrip("-").replace("-", "_")
        self.words[name] = word
        if "default" in keywords:
            self.defaults[name] = _constant(keywords["default"])
        else:
            self.defaults[name] = _ACTIONS.get(str(action.value)) if isinstance(action, ast.Constant) else None

    def preventing(self, module: Module, node: ast.AST, depth: int = DEPTH) -> set[str]:
        """Return the options whose defaults keep a line, or all calls of its function, from running."""
        needed: set[str] = set().union(*(self._used(test, set()) for test in self._failing(module, node)))
        function = module.function(node)
        if needed or not depth or not isinstance(function, ast.FunctionDef):
            return needed
        calls = [
            (other, call)
            for other, call in self.program.callers.get(function.name, [])
            if other.function(call) is not function
        ]
        preventing = [self.preventing(other, call, depth - 1) for other, call in calls]
        return set().union(*preventing) if all(preventing) else set()

    def _failing(self, module: Module, node: ast.AST) -> Iterator[ast.expr]:
        """Yield the tests around a line that keep it from running."""
        for test, wanted in _tests(module, node):
            value = self._value(test)
            if value is not UNKNOWN and bool(value) != wanted:
                yield test

    def _value(self, expression: ast.expr) -> Any:
        """Return the value of an expression with the options' defaults; UNKNOWN if it depends on more."""
        match expression:
            case ast.Constant(value=value):
                return value
            case ast.Attribute() | ast.Name():
                return self._named(_last(expression))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self._value(operand)
                return value if value is UNKNOWN else not value
            case ast.UnaryOp():
                return _constant(expression)
            case ast.BoolOp(op=op, values=parts):
                values = [self._value(part) for part in parts]
                decisive = isinstance(op, ast.Or)
                if any(value is not UNKNOWN and bool(value) == decisive for value in values):
                    return decisive
                return UNKNOWN if UNKNOWN in values else not decisive
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                values = [self._value(left), self._value(right)]
                try:
                    return UNKNOWN if UNKNOWN in values else _COMPARE[type(op)](*values)
                except TypeError:
                    return UNKNOWN
        return UNKNOWN

    def _named(self, name: str) -> Any:
        """Return the value of a variable or an attribute; UNKNOWN if its assignments differ."""
        if name not in self._values:
            self._values[name] = UNKNOWN  # for one that depends on itself
            values = [self._value(value) for value in self._assigned(name)]
            if name in self.defaults:
                values.append(self.defaults[name])
            agreed = bool(values) and UNKNOWN not in values and all(value == values[0] for value in values)
            self._values[name] = values[0] if agreed else UNKNOWN
        return self._values[name]

    def _assigned(self, name: str) -> Iterator[ast.expr]:
        """Yield the expressions that are assigned to a name, unless the options' defaults prevent the assignment."""
        for module, node, value in self.assignments.get(name, ()):
            if not any(True for _ in self._failing(module, node)):
                yield value

    def _used(self, expression: ast.AST, visited: set[str]) -> set[str]:
        """Return the options that an expression depends on."""
        used: set[str] = set()
        for node in ast.walk(expression):
            name = _last(node)
            if not name or name in visited:
                continue
            visited.add(name)
            used |= {self.words[name]} if name in self.words else set()
            for _, _, value in self.assignments.get(name, ()):
                used |= self._used(value, visited)
        return used


_OTHER = ast.Name("…", ast.Load())
"""Stands for an assigned value that is not a single expression."""


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, assigned expression) for the names that a node binds."""
    match node:
        case ast.Assign(targets=[ast.Attribute() | ast.Name() as target], value=value):
            yield _last(target), value
        case ast.Assign(targets=targets):
            yield from ((name, _OTHER) for target in targets for name in _targets(target))
        case ast.AugAssign(target=target) | ast.For(target=target) | ast.comprehension(target=target):
            yield from ((name, _OTHER) for name in _targets(target))


def _tests(module: Module, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield (test, result that lets the line run) for the `if` statements around a line."""
    for below, up in module.above(node):
        if isinstance(up, ast.If) and below is not up.test:
            yield up.test, below not in up.orelse
        elif isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return


def _constant(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _targets(node: ast.AST) -> set[str]:
    return {_last(part) for part in ast.walk(node) if isinstance(part, ast.Attribute | ast.Name)}


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
